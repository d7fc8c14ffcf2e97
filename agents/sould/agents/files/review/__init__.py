"""The review of what agents changed: hunks as data, moved, grown, split and ended by edits and decided by users (D40).

Everything here is pure: no files, no clocks, no editors. The example cases of docs/review.md decide where words leave room.
"""
