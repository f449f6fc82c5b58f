"""`python -m benchmarks results`: measures what papers print, keeps it in files, and writes the pages of docs/results.

`parts` says what there is to measure, `record` how it is kept, `measure` takes what is not kept yet, and the pages are
written from the files alone: a page never holds a figure that no file has.
"""
