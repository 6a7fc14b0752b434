"""Does the storage of rows affect a release?"""
