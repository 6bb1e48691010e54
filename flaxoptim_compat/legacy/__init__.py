"""Old programs, unedited: what they import is there again."""
