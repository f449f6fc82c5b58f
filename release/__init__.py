"""Making a wheel that installs where there is no compiler, and checking that it does."""
