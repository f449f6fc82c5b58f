"""Differential privacy: one epsilon for everything that is opened in training, and for the model.

Prints:
    epsilon 2.0, delta 1e-06, for one row, against the driver with up to one party of the 3, and whoever has the model
    without noise 0.9..., with epsilon 2 0...
"""

from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score

from hedgerow import DP, GBDTClassifier, Horizontal, partition

X, y = load_breast_cancer(return_X_y=True)
X, y, new, answers = X[:400], y[:400], X[400:], y[400:]
parties = partition.rows(X, y, n=3)

plain = GBDTClassifier(n_estimators=20, max_depth=3, federation=Horizontal()).fit(parties)
noised = GBDTClassifier(federation=Horizontal(dp=DP(epsilon=2, classes=[0, 1]))).fit(parties)

promise = noised.model_.promise
print(f"epsilon {promise.epsilon}, delta {promise.delta}, for one {promise.unit}, against {promise.adversary}")
auc = [roc_auc_score(answers, model.predict_proba(new)[:, 1]) for model in (plain, noised)]
print(f"without noise {auc[0]:.3f}, with epsilon 2 {auc[1]:.3f}")
