/** CodeMirror's own words in Chinese; in English they are as it has them. */

import { EditorState, type Extension } from "@codemirror/state";
import { lang } from "../words";

const ZH: Record<string, string> = {
  Find: "查找",
  Replace: "替换",
  next: "下一个",
  previous: "上一个",
  all: "全选",
  "match case": "区分大小写",
  "by word": "整词",
  regexp: "正则",
  replace: "替换",
  "replace all": "全部替换",
  close: "关闭",
  "current match": "当前匹配",
  "replaced $ matches": "替换了 $ 处",
  "replaced match on line $": "替换了第 $ 行的匹配",
  "on line": "在行",
  "Go to line": "转到行",
  go: "转到",
  Completions: "补全",
  Diagnostics: "问题",
  "No diagnostics": "没有问题",
  "Control character": "控制字符",
  "Selection deleted": "已删除选中的内容",
};

export const phrases = (): Extension => (lang() === "zh" ? EditorState.phrases.of(ZH) : []);
