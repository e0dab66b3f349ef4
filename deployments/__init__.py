try:
    from flows.packages import check_packages
except ModuleNotFoundError as error:
    import flows

    spec = flows.__spec__
    places = ", ".join(spec.submodule_search_locations or [spec.origin or "?"])
    message = f'the package "flows" in {places} hides Callsheet\'s own: rename it, or try python -P'
    raise ImportError(message, name="flows") from error

# Another package of the name may be there and have no modules of ours in its way.
check_packages("flows", "tasks")
