"""Five parties with the same columns train one model under masks; then two parties with different columns, encrypted.

Prints:
    horizontal: 5 parties, AUC 0.9...
    vertical:   2 parties, AUC 0.9...
"""

from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score

from hedgerow import GBDTClassifier, Horizontal, Vertical, partition

X, y = load_breast_cancer(return_X_y=True)
X, y, new, answers = X[:400], y[:400], X[400:], y[400:]

parties = partition.rows(X, y, n=5)
model = GBDTClassifier(n_estimators=20, max_depth=3, federation=Horizontal()).fit(parties)
print(f"horizontal: {len(parties)} parties, AUC {roc_auc_score(answers, model.predict_proba(new)[:, 1]):.3f}")

parties = partition.columns(X, y, n=2)
model = GBDTClassifier(n_estimators=3, max_depth=3, federation=Vertical()).fit(parties)
asked = partition.columns(new, answers, n=2)
print(f"vertical:   {len(parties)} parties, AUC {roc_auc_score(answers, model.predict_proba(asked)[:, 1]):.3f}")
