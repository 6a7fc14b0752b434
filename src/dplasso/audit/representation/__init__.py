"""Does how rows are stored reach a release?"""
