"""What parameters and the keys of files mean, for the tables that `generate.py` makes; a key without one is refused."""

PARAMETERS = {
    "n_estimators": "rounds of trees; one tree a round, or one for each of three or more classes",
    "max_depth": "depth of a tree: splits on the way from the root to a leaf",
    "learning_rate": "factor by which leaf values are multiplied",
    "reg_lambda": "added to the sum of hessians in a leaf's value and in the gain (L2)",
    "reg_alpha": "by how much a sum of gradients is shrunk towards 0 (L1)",
    "gamma": "least gain of a split",
    "min_child_weight": "least sum of hessians in a child",
    "max_bin": "bins of a numeric column",
    "subsample": "share of the rows drawn for each round, without replacement",
    "colsample_bytree": "share of the columns drawn for each tree",
    "colsample_bynode": "share of the tree's columns drawn for each node",
    "scale_pos_weight": "weight of the second of two classes",
    "monotone_constraints": "whether predictions may only rise (1) or only fall (-1) with a column",
    "early_stopping_rounds": "stop after this many rounds without a better metric, and keep the rounds up to the best",
    "eval_metric": "metric on the held-out rows",
    "base_score": "what every row is predicted before the first tree, as label or probability; None: the mean label",
    "gradient_bits": "bits of the integers whose sums choose splits, sign included; None: 20, or 8 for classes in an "
    "encrypted vertical federation whose rows all have the same weight, 12 in a hybrid one",
    "constant_hessian": "use 1 (times its weight) as the hessian of every row in place of its second derivative",
    "min_cut_rows": "cut points do not separate values that fewer rows share; 1: exact quantiles; None: 1, or 50 in a "
    "horizontal or vertical federation",
    "min_child_rows": "least number of rows in a child",
    "federation": "how several parties' tables learn together; None: one table",
    "dp": "[differential privacy](../how-to/choose-epsilon.md) of one table; of several parties it is an option of "
    "their federation",
    "callbacks": "called with a `Round` after each round; training ends when one returns True",
    "random_state": "seed of the draws of rows and columns; None is 0",
    "n_jobs": "threads; None or -1 for all cores, -2 for all but one. The forest does not depend on it",
    "verbose": "lines that are printed while training. 0: none. 1: about twenty, with the metric if one is followed. "
    "N: one every N rounds. Remarks about the parties' tables and `notes_` are then printed, too",
    "objective": "the loss",
    "tweedie_variance_power": "variance power of the Tweedie loss",
    "huber_slope": "residual at which the Huber loss turns linear",
}
PARAMETER_LIMITS = {
    "monotone_constraints": "-1, 0 or 1 for each column",
    "dp": "`DP(epsilon=...)` or None",
    "federation": "`Horizontal`, `Vertical`, `Hybrid`, `Bagged`, `WholeTrees` or None",
    "eval_metric": "see [losses and metrics](losses-and-metrics.md)",
    "base_score": "a number",
    "constant_hessian": "True or False",
    "callbacks": "callables",
    "n_jobs": "a whole number other than 0, or None",
    "verbose": "a whole number of at least 0",
    "objective": "squared, poisson, tweedie or huber",
    "tweedie_variance_power": "between 1 and 2, both excluded",
    "huber_slope": "above 0",
}
RUN_FILE = {
    "run": {
        "name": "name of the run, and of its folder",
        "method": "how the parties learn. horizontal: same columns, trees from sums over all parties. vertical: same "
        "rows, trees over [all parties' columns](../explanation/vertical.md). hybrid: the active party's rows, of "
        "which each passive party [has some](../explanation/hybrid.md). bagging, sequential: whole "
        "trees of each party, baselines that protect nothing. alone, pooled: nothing is exchanged; simulations only",
        "active": "of a vertical or hybrid run the party that has the labels and drives; of a hybrid simulation also "
        "[several](../how-to/several-active-parties.md), in brackets, each with a run of its own",
        "vote": "whether the models of several active parties vote for a class; else probabilities are averaged",
        "folder": "the run's folder; `--folder` of the command line comes first",
        "model": "a second place for the model; `train` only",
    },
    "data": {
        "label": "column of the labels; LIBSVM files and built-in sets have their own. In a vertical run only the "
        "active party's file needs it; of the others it is not used",
        "id": "column of the rows' ids, by which rows are aligned, held out and drawn; not a feature",
        "weight": "column of the rows' weights; not a feature",
        "categorical": "columns of numbers that are categories",
        "absent": "what an entry that a LIBSVM file leaves out means",
        "task": "whether labels are classes or numbers",
        "test": "rows that only the final metrics are computed on; simulations only",
        "format": "what the files are, whatever their suffix",
        "n_columns": "width of LIBSVM files that end early; real parties must give it with such files",
        "first_index": "number of the first column in LIBSVM files; real parties must give it with such files",
        "delimiter": "what stands between the fields of CSV files. `join`, `drive` and `answer` have options of these "
        "three names for own files",
        "decimal": "what stands before the decimals of numbers in CSV files",
        "ignore": "columns that are not used, in files that have them",
    },
    "partition": {
        "data": "the table that is cut",
        "parties": "how many parties; they are called `party1`, `party2` and so on, of `builtin:payments` in a hybrid "
        "run `network`, `bank1` and so on. Of a vertical or hybrid run the first is the active one",
        "how": "which rows go to whom; see [cut a table into parties](../how-to/partition.md). Not of a vertical "
        "run, whose columns are dealt out: as many to each, the labels to the first party; of a hybrid run `even` or "
        "`labels`, of passive parties' rows",
        "alpha": "concentration of the Dirichlet distribution of `quantity` and `labels`",
        "noise": "variance of the Gaussian noise added to the first party's values, twice that to the second's; it "
        "protects nobody",
        "seed": "seed of the cut; of a vertical run, columns stay in order without one",
        "passive": "columns of the passive parties; a number: so many, drawn. This and the keys below are for hybrid "
        "runs; without it, `builtin:payments` falls into [its own parties](../how-to/will-hybrid-pay.md)",
        "by": "rows of one value of this column go to one passive party; nobody has the column",
        "holders": "how many passive parties hold each row",
        "dropped": "each passive party lacks some columns: a number of them drawn from 0 to this; unless `shared` says "
        "so, they then share none",
        "extra": "each passive party gets rows of others beside: a number drawn from 0 to this share of all rows",
        "uncovered": "share of the rows that no passive party holds",
        "active_rows": "share of the training rows that the active party has",
        "active_columns": "share of its columns that the active party has",
        "test_rows": "whether passive parties hold the shares of `[data] test` that they hold of training rows, or all "
        "the same",
    },
    "party": {
        "name": "name of the party, in order of the plan",
        "data": "its rows; simulations only, a real party names them to `join`, the active one of a vertical run "
        "to `drive`",
        "valid": "its rows for following the metric, in place of a share",
        "fingerprint": "SHA-256 of its certificate; real parties only",
    },
    "validation": {
        "share": "share of each party's rows that is held out (of a hybrid run the active party's), by a hash of the "
        "row's id and [trees] random_state; the metric is followed on them"
    },
    "privacy": {
        "protection": "horizontal. masked: the driver reads sums over all parties only. plain: it reads every party's "
        "own sums, from which rows can be reconstructed. lattice, paillier: it reads no sums; the opener reads "
        "those over all parties. Vertical, hybrid. lattice, paillier: passive parties get "
        "encrypted gradients. plain: they read every gradient, and with it the labels",
        "i_accept_disclosure": "must be true for plain",
        "allow_two": "lets two real parties run with masks, where each can compute the other's sums, or with an "
        "opener, which can; every owner's "
        "policy must allow it too. A simulation of two parties always runs, with a note",
        "on_loss": "what happens [when a party is lost](../how-to/real-parties.md#when-a-party-is-lost)",
        "party_share": "share of the parties drawn for each tree; in a vertical run, of the passive ones",
        "cut_points": "counts: from counts over all parties. local: merged from each party's own quantiles, which the "
        "driver reads",
        "columns": "shared: those that every party has; the run says which are left out. all: every column, missing "
        "where a party lacks it",
        "allow_few_columns": "allows a run in which all parties share fewer than half of the columns of the party "
        "that has most, which is refused otherwise",
        "key_bits": "bits of Paillier keys",
        "opener": "horizontal with lattice or paillier: the party that decrypts the sums over all parties and chooses "
        "the splits",
        "link_mbit": "speed of the network in Mbit/s, for which lattice encryption is optimised. Without it real "
        "parties' links are measured before the plan is signed, and in a simulation bytes are taken to cost nothing",
        "align": "rows of a vertical run. given: the same everywhere, in the same order. private: those whose ids all "
        "parties have, found [without showing ids](../decisions/0013-alignment.md); needs [data] id. Of a "
        "hybrid run, private by default: whether ids are linked without showing them, or (given) shown to each "
        "passive party",
        "most_ids": "the most ids that a party may submit to a private alignment, or bring to a hybrid run",
        "column_names": "names of columns of a horizontal run. open: the driver is told all of them. private: a name "
        "that not all parties have stays [unknown to the others](../explanation/horizontal.md); needs columns = shared "
        "and on_loss = wait",
        "shared": "of a hybrid run, which passive parties have the same columns: one subtree for all of them, from the "
        "[total of their sums](../explanation/hybrid.md) only; at least three, or two with allow_two. true: all of "
        "them, the default where there are three. Lists of names: each list by itself",
        "levels": "a letter for each level of a tree, whose columns compete for splits there: `A` the active party's, "
        "`P` the passive parties', `J` all; vertical and hybrid runs. Nobody is asked at levels `A`. Without it, of a "
        "hybrid run `A` in the first half, or one more, and `J` in the others",
        "separate": "of a hybrid run: below the first levels, the active party's, each passive party, or each group "
        "that shares columns, has [subtrees of its own](../explanation/hybrid.md#separate-subtrees)",
        "passive_cuts": "of a hybrid run, at levels `P`. best: those that reduce the loss most, from encrypted sums. "
        "random: [drawn by a public hash](../explanation/hybrid.md#random-cuts); the passive parties tell sides of "
        "rows only",
        "passive_rows": "of a vertical or hybrid run: at levels that ask passive parties, splits are chosen by [this "
        "share of the rows](../explanation/vertical.md#a-sample-of-the-rows), drawn for each round by a hash of the "
        "ids; leaf values are of all rows",
        "depth_active": "of a hybrid run, with depth_passive: so many levels `A`, then so many `P`, instead of levels; "
        "without max_depth their sum is the depth",
        "depth_passive": "see depth_active",
        "epsilon": "asks for [differential privacy](../how-to/choose-epsilon.md): everything that is released of the "
        "rows has noise, and one epsilon holds for all of it, the model included; horizontal runs with masks. Of "
        "vertical and hybrid runs see protects",
        "protects": "of a vertical run (model also of a hybrid one): "
        "[what is promised](../explanation/vertical-privacy.md). labels: to passive "
        "parties, with epsilon = 0 nothing at all; model: to whoever has the finished model and was no party; "
        "passive: to the active party of the others' columns, by one batch of noised sums. rows is for horizontal "
        'runs; with `dp_trees = "laplace"`, which promises nothing, for vertical ones too',
        "delta": "the probability with which more than epsilon may be told; far below one in the number of rows",
        "dp_trees": "how trees grow under noise. auto: one-column trees, then drawn ones where that pays; chooses the "
        "number of trees, bins, learning rate and noise by itself. additive, random: one of these alone. greedy: cuts "
        "chosen from noised histograms. laplace: FedTree's way, for comparison",
        "colluders": "parties that may pool what they know, also with the driver, without seeing less noise than "
        "promised; each adds a larger share of it",
        "rows_per_id": "the most rows of one person; above 1 the promise is about a person instead of a row, and each "
        "owner's table must keep to it. In hybrid runs, rows of an id at the active party, which counts them",
        "label_range": "the least and the greatest label of a regression; labels beyond are cut to it",
        "max_nonzero": "the most columns that are not 0 in one row, by declaration; less noise where it is small",
        "classes": "all classes, declared because a rare one would tell of a single row; rows of others are left out "
        "without a word to the other parties. Simulations take those in the labels",
        "categories": 'the categories of columns, declared likewise, like `{job = ["clerk", "other"]}`; others '
        "count as missing",
        "local_trees": "rounds at the beginning of a vertical run that are grown from the active party's own columns "
        "only",
        "hidden_rows": "of a vertical run: passive parties [do not learn which rows share a "
        "node](../explanation/vertical.md#hidden-rows), at several times the cost",
    },
    "trees": {
        "kind": "boosted trees, or a random forest",
        "objective": "loss for numbers; classes need none",
        "random_state": "seed of the draws of rows, columns and parties, and of the rows that are held out",
        "min_cut_rows": "cut points do not separate values that fewer rows share; 1: exact quantiles",
        "gradient_bits": "bits of the integers whose sums choose splits, sign included; without it 8 for classes in an "
        "encrypted vertical run without weights, and 12 in a hybrid one",
        "base_score": "what every row is predicted before the first tree, as label or probability; else the mean label",
    },
    "driver": {
        "address": "address to which parties connect; the active party of a vertical run listens. "
        "The driver's certificate must be for this host",
        "listen": "where the driver listens",
        "fingerprint": "SHA-256 of the driver's certificate; in a vertical run the active party's",
        "ca": "certificate of the authority that signed all the others; needed by `drive` and `join`",
        "crl": "the authority's list of revoked certificates",
        "deadline": "seconds within which every answer must come; also how long a party may be away before it counts "
        "as lost",
        "patience": "seconds for which the driver waits for parties, and a party for the driver",
    },
}
RUN_FILE_LIMITS = {
    "run.name": "1 to 64 letters, digits, `-`, `_`, `.`",
    "run.active": "a party, or a list of some",
    "run.vote": "true or false",
    "run.folder": "a path",
    "run.model": "a path",
    "data.label": "a column",
    "data.id": "a column",
    "data.weight": "a column",
    "data.categorical": "a list of columns",
    "data.delimiter": "one sign, like `;`, or `tab`",
    "data.decimal": "`.` or `,`",
    "data.ignore": "a list of columns",
    "data.test": "a file, or `builtin:NAME`",
    "data.n_columns": "a whole number from 1 on",
    "partition.data": "a file, or `builtin:NAME`",
    "partition.noise": "a number of at least 0",
    "partition.seed": "a whole number of at least 0",
    "partition.passive": "a list of columns, or a whole number",
    "partition.by": "a column",
    "partition.holders": "a whole number of at least 1",
    "partition.dropped": "a whole number of at least 0",
    "partition.extra": "a number from 0 to below 1",
    "partition.uncovered": "a number from 0 to below 1",
    "partition.active_rows": "a number above 0 and at most 1",
    "partition.active_columns": "a number above 0 and at most 1",
    "party.name": "as [run] name; each its own",
    "party.data": "a file, or `builtin:NAME`",
    "party.valid": "a file, or `builtin:NAME`",
    "party.fingerprint": "64 hexadecimal digits",
    "validation.share": "a number from 0 to below 1",
    "privacy.i_accept_disclosure": "true or false",
    "privacy.allow_two": "true or false",
    "privacy.party_share": "a number above 0 and at most 1",
    "privacy.passive_rows": "a number above 0 and at most 1",
    "privacy.key_bits": "2048, 3072 or 4096",
    "privacy.levels": "letters `A`, `P` and `J`, as many as `max_depth`",
    "privacy.depth_active": "a whole number from 0 to 30",
    "privacy.depth_passive": "a whole number from 0 to 30",
    "privacy.local_trees": "a whole number from 0 to below `n_estimators`",
    "privacy.link_mbit": "a number above 0",
    "privacy.most_ids": "a whole number from 1 to 10,000,000",
    "privacy.opener": "name of a party",
    "privacy.hidden_rows": "true or false",
    "privacy.separate": "true or false",
    "privacy.shared": "true, false or lists of names",
    "privacy.allow_few_columns": "true or false",
    "privacy.epsilon": "a number above 0 and at most 100; of labels 0, too",
    "privacy.delta": "a number above 0 and at most 0.1",
    "privacy.colluders": "a whole number from 0 to below the number of parties",
    "privacy.rows_per_id": "a whole number of at least 1",
    "privacy.label_range": "two numbers",
    "privacy.max_nonzero": "a whole number of at least 1",
    "privacy.classes": "a list of numbers or texts",
    "privacy.categories": "a table with a list of texts for each column",
    "driver.address": "HOST:PORT",
    "driver.listen": "HOST:PORT",
    "driver.fingerprint": "64 hexadecimal digits",
    "driver.ca": "a path",
    "driver.crl": "a path",
    "driver.deadline": "seconds above 0",
    "driver.patience": "seconds above 0",
}
RUN_FILE_DEFAULTS = {
    "run.name": "must be given",
    "run.method": "`horizontal`",
    "run.active": "must be given to a vertical or hybrid run; with [partition], the first party",
    "run.vote": "false",
    "run.folder": "`runs/NAME` beside the run file; of a party that joins, `NAME-PARTY`",
    "run.model": "",
    "data.task": "must be given, unless [trees] objective is",
    "data.format": "by the suffix",
    "data.delimiter": "recognised in each file, and said",
    "data.decimal": "recognised in each file, and said",
    "data.n_columns": "as wide as the widest file",
    "data.first_index": "0 if any file has a column 0, else 1",
    "partition.data": "must be given",
    "partition.parties": "must be given",
    "partition.seed": "0",
    "partition.passive": "must be given to a hybrid run",
    "party.name": "must be given",
    "party.data": "",
    "party.fingerprint": "",
    "validation.share": "0",
    "privacy.protection": "`masked`; of a vertical or hybrid run `lattice`",
    "privacy.key_bits": "`3072`",
    "privacy.epsilon": "no differential privacy",
    "privacy.delta": "`0.000001`",
    "privacy.dp_trees": "`auto`",
    "privacy.classes": "must be given between real parties",
    "privacy.categories": "must be given between real parties, of columns that have some",
    "privacy.align": "`given`",
    "privacy.opener": "must be given where it is needed",
    "driver.address": "must be given",
    "driver.listen": "`0.0.0.0:` and the port of address",
    "driver.fingerprint": "must be given to run; of a vertical run the active party's",
}
"""Where the code's own default is not what a reader should know."""

POLICY = {
    "plan": "hash of the one plan that is allowed, as `hedgerow plan` prints it; without it, the plan of this party's "
    "own copy of the run file",
    "fewest_parties": "least number of parties whose masked or encrypted sums are added up for a tree; above 3, "
    "`party_share` below 1 is allowed only with `on_loss` `wait`",
    "allow_two": "two parties, masked or with an opener, if the run file has `allow_two` as well",
    "allow_plain": "the driver may read this party's own sums; in a vertical run, nothing is encrypted",
    "allow_local_cuts": "the driver may read this party's own quantiles",
    "allow_whole_trees": "others may read trees grown on this party's rows alone",
    "allow_continue": "the run may continue without a party that is lost",
    "allow_party_sampling": "trees may be grown from the rows of some of the parties",
    "min_cut_rows": "the run's `min_cut_rows` must be at least this (horizontal and vertical runs)",
    "min_child_rows": "the run's `min_child_rows` must be at least this; in a vertical run the party also refuses to "
    "sum or split smaller nodes",
    "min_bin_rows": "least rows of this party's own bins in a vertical run: it merges smaller ones, and does not use a "
    "column whose missing values or one of whose categories have fewer",
    "most_trees": "the run's `n_estimators` must be at most this",
    "most_classes": "classes that the parties together may have (in a vertical run by the active party's word): each "
    "adds a tree to every round, for which sums and sides are given, too",
    "most_sides": "sides of rows at this party's own splits that it discloses in a vertical run, over all its "
    "processes; a million rows, 100 rounds of ten classes and a depth of 6 are 6 thousand million if all splits are "
    "its own",
    "most_bits": "capacity in bits of the sums that it gives in a vertical run, over all its processes; 100 "
    "columns of 255 bins, 100 rounds of ten classes and a depth of 6 are 88 thousand million",
    "min_key_bits": "Paillier keys must have at least this many bits",
    "most_probe_bytes": "bytes that the driver may send and ask back to measure the link before the plan is signed, in "
    "one process of this party; each exchange counts 512 beside its padding. A measurement takes at most 1.7 "
    "million, and 1.6 million more beside other parties",
    "least_link_mbit": "the slowest measured link, in Mbit/s, that a run may be laid out for: with fewer bytes each "
    "party computes more; up to 500. A speed that the run file names itself is not bounded",
    "allow_prediction": "the active party of a vertical model may ask which way rows go at this party's splits",
    "most_predicted_rows": "rows that it may ask about with one model, over all predictions, sealed ones only where "
    "parties share columns or have subtrees of their own; counted in the owner's ledger, where asking about a row "
    "again counts again",
    "allow_sealed": "the active party of a vertical model may ask for encrypted scores that depend on this party's "
    "columns",
    "most_answers_per_id": "encrypted scores, and contributions to them, that may be told about one id within "
    "`answer_days`, over all models; ids that this party does not have are counted alike",
    "answer_days": "days for which an answer counts",
    "most_bits_per_id": "capacity in bits of all those answers together",
    "most_score_bits": "capacity in bits of one answer",
    "blur_permille": "each score is blurred at random before it is told, by at most so many thousandths of the "
    "largest score that the model can give, to either side; the active party is told how many, and refuses more than "
    "there is room for: 125 of all owners together always fit",
    "least_paths": "a model is refused if more than 1 % of its scores are shared by fewer combinations of ways through "
    "this party's splits; the active party computes it, which alone has the leaf values",
    "least_own_cuts": "least number of this party's own splits in a model of which encrypted scores are asked for",
    "least_own_trees": "least number of trees that have such splits",
    "most_epsilon": "what all runs together may tell of a row (or a person) of this owner, as an epsilon of "
    "differential privacy; runs that promise none are refused, and so is one that would exceed it together with those "
    "before. Without it nothing is refused, and runs are counted all the same",
    "most_delta": "the delta at which `most_epsilon` holds, and the most that a run may promise",
    "epsilon_budget": "name of the budget in which runs with this policy are counted, for tables that share no row "
    "with other tables of this owner; all runs without a name share one budget",
    "openers": "parties that may decrypt the sums of an encrypted horizontal run",
    "columns": "the only columns of the table that are used and named to others",
    "tell_columns": "what the active party of a vertical run is told of this party's columns: `codes`, their numbers, "
    "or `names` too. Kinds and numbers of bins are always disclosed. Without it names are told only where passive "
    "parties share their columns; `codes` refuses to take part in that",
    "disclose": "a section of its own: columns whose meaning `hedgerow disclose` tells the active party of a vertical "
    "model, each with a description; no others are told",
    "most_bins": "most bins of such a column that are ever shown, and to which its splits are rounded; 1 tells the "
    "meaning alone, and nothing of the splits",
}

CONFIGURATION = {
    "mode": "`horizontal`; `vertical`, the first party being the active one; `ensemble` is our `bagging`, `solo` our "
    "`alone`, `centralized` our `pooled`. `hybrid` is refused so far",
    "n_parties": "honoured; must agree with the number of files in `data`",
    "partition": "1 cuts the one file of `data` evenly into `n_parties`, by rows or in a vertical run by columns",
    "partition_mode": "must fit `mode`; `hybrid` is refused so far",
    "privacy_tech": "`sa` is our masks; `none` is taken as consent to disclosure, with a note; `he` is lattice "
    "encryption in a vertical run, and in a horizontal one whose first party decrypts the sums, and refused "
    "otherwise; `dp` is FedTree's noise on a horizontal or vertical run, which promises nothing, and refused "
    "otherwise",
    "privacy_budget": "with privacy_tech=dp the epsilon of one histogram, as in FedTree; else noted, no effect",
    "propose_split": "`server` is our `counts`; `party`, `client_pre` and `client_post` are our `local`",
    "merge_histogram": "`server`; `client` is refused",
    "data_format": "`libsvm` (entries left out are missing) or `csv` with columns `id`, `y` and features",
    "n_features": "width of LIBSVM files; no effect on the files of a vertical run, which have columns of their own",
    "data": "a file for each party, separated by commas",
    "test_data": "one file, on which the final metrics are computed",
    "model_path": "the model is also written there, in hedgerow's format",
    "objective": "`reg:linear`; `binary:logistic`, `reg:logistic`, `multi:softprob` and `multi:softmax` mean classes; "
    "ranking is refused",
    "bagging": "1 grows a random forest",
    "n_parallel_trees": "1; more is refused",
    "metric": "all metrics that the labels allow are printed; one that they do not allow is refused",
    "constant_h": "honoured",
    "reorder_label": "no effect: classes are numbered in any case",
}
"""Of FedTree's keys, those that are neither a parameter of the trees nor without effect."""
