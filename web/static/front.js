// The folder itself: on to the map in the first of the browser's languages that we have.
location.replace(navigator.languages.find((each) => /^(zh|en)\b/i.test(each))?.toLowerCase().startsWith('zh') ? 'zh/' : 'en/');
