collect_ignore_glob = ["test_to*"]
