"""Every error hedgerow raises on purpose.

* HedgerowError
  x DataError        a table cannot be used as it is: what is wrong, in which column, row or line
  x ParameterError   a parameter is out of its range, unknown, or contradicts another
  x ModelError       a model file is damaged or of another version, or a model does not fit the table
  x MissingExtra     an optional library is not installed

Each message says what is wrong, where, and what to do; none shows a private value. Those that are also a
`ValueError` or an `ImportError` are so because scikit-learn's users catch them by that name.
"""


class HedgerowError(Exception):
    """Base of all errors raised on purpose."""


class DataError(HedgerowError, ValueError):
    """A table cannot be used as it is."""


class ParameterError(HedgerowError, ValueError):
    """A parameter is out of its range, unknown, or contradicts another."""


class ModelError(HedgerowError, ValueError):
    """A model file is damaged or of another version, or a model does not fit the table."""


class MissingExtra(HedgerowError, ImportError):
    """An optional library is needed and not installed."""
