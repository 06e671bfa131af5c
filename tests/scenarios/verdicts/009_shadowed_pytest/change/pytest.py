print("3 passed")
