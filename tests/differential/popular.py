def popular_models():
    return []
