"""A trained model: labels as numbers, training on one table, files, parts, quality, export to XGBoost."""
