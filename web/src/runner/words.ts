/** The runner's own sentences. What Python says comes with its words; these are for when it says nothing. */
import type { Words } from "./types";

export const words = {
  missing: (why: string): Words => ({
    zh: `这个站点没有浏览器里的 Python：${why}。样例可以用命令行跑，提交不受影响。`,
    en: `This site has no Python for the tab: ${why}. Samples can be run on the command line; submitting works.`,
  }),
  failed: (why: string): Words => ({
    zh: `浏览器里的 Python 没有启动（${why}）。重新加载页面再试；代码已经存好。`,
    en: `Python in the tab did not start (${why}). Reload the page to try again; your code is kept.`,
  }),
  garbled: {
    zh: "这次运行没有留下可读的结果：代码动了用来汇报结果的东西。",
    en: "This run left no readable result: the code changed what reports it.",
  },
  flood: {
    zh: "输出太多，运行已停下。",
    en: "Too much output; the run was stopped.",
  },
} as const;
