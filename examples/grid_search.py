"""scikit-learn's grid search over a federation: a row's fold is a hash of its id, the same at every party.

Prints:
    <PartyTables of party1, party2, party3: 569 ids, 30 columns>
    best: {'learning_rate': 0.3, 'max_depth': 3}, accuracy 0.9...
"""

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV

from hedgerow import GBDTClassifier, HashFolds, Horizontal, PartyTables, partition

parties = PartyTables(partition.rows(*load_breast_cancer(return_X_y=True), n=3))
print(parties)
classifier = GBDTClassifier(n_estimators=10, federation=Horizontal())
grid = {"max_depth": [2, 3], "learning_rate": [0.1, 0.3]}
search = GridSearchCV(classifier, grid, cv=HashFolds(2), refit=False).fit(parties)
print(f"best: {search.best_params_}, accuracy {search.best_score_:.3f}")
