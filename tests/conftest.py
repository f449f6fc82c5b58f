from hypothesis import settings

settings.register_profile("hedgerow", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("hedgerow")
