// Everything that the page says, in both languages. Elements name their words by `data-word`.

const EN = {
  tagline: "Write down what matters, find it by meaning. Everything stays on this device, in this browser.",
  choose: "Which language do you write in?",
  moment: "One moment…",
  start: "Start",
  switch: "Switch",
  stop: "Stop",
  once: "The model is fetched once and kept in this browser.",
  rememberTitle: "Remember something",
  what: "What should be remembered?",
  about: "About",
  kind: "Kind",
  preference: "preference",
  fact: "fact",
  plan: "plan",
  remember: "Remember",
  memories: "Memories",
  noneYet: "none yet",
  examples: "Add examples",
  askTitle: "Ask",
  askHint: "Ask in your own words; none of them has to occur in the memory.",
  search: "Search",
  forget: "Forget",
  newest: (count) => `The newest ${count} are shown.`,
  nothing: "There is nothing to find yet.",
  found: (milliseconds) => `Best first, found in ${milliseconds} ms`,
  similarity: "similarity",
  cut: "only its beginning is searched",
  download: "Fetching the model",
  verify: "Checking the model",
  compile: "Preparing the model",
  vouch: "Checking the model's answers",
  storage: "Opening the store",
  index: "Reading memories",
  reindex: "Reading memories anew",
  of: (loaded, total) => `, ${loaded} of ${total} MB`,
  kept: (count) =>
    count === 0
      ? "What you write is kept in this browser."
      : `${count === 1 ? "1 memory is" : `${count} memories are`} kept in this browser.`,
  forgetful: (count) =>
    `${count === 1 ? "1 memory is" : `${count} memories are`} kept until this page closes: this browser does not let pages store data, as in a private window.`,
  here: (model) => `They are searched with the model ${model}, which runs on this device.`,
  slow: "It runs in the page itself, which may stutter.",
  problems: {
    aborted: "Stopped. What was fetched so far is kept; press Start to go on.",
    model_load: "The model could not be fetched. Check the connection and press Start to try again.",
    corrupted: "Something that was kept in this browser is damaged. Clear this site's data to begin anew.",
    quota_exceeded: "This device has no room left for it. Free some space, then try again; nothing was lost.",
    storage_blocked: "Another tab holds an older version of these memories open. Close it, then try again.",
    schema_too_new: "A newer version of this page wrote these memories. Reload the page to get it.",
    invalid_document: "This text cannot be stored: it holds a broken character.",
    closed: "The memories were closed. Press Start to open them again.",
  },
  otherProblem: "That did not work. Nothing was lost; reload the page to try again.",
  details: "Details",
};

const ZH = {
  tagline: "记下重要的事，按意思找回来。一切都留在这台设备的浏览器里。",
  choose: "你用哪种语言书写？",
  moment: "请稍候…",
  start: "开始",
  switch: "切换",
  stop: "停止",
  once: "模型只需下载一次，之后保存在这个浏览器里。",
  rememberTitle: "记住一件事",
  what: "要记住什么？",
  about: "关于",
  kind: "类别",
  preference: "偏好",
  fact: "事实",
  plan: "计划",
  remember: "记住",
  memories: "记忆",
  noneYet: "还没有",
  examples: "添加示例",
  askTitle: "提问",
  askHint: "用你自己的话提问，不必与记忆用词相同。",
  search: "搜索",
  forget: "忘记",
  newest: (count) => `只显示最新的 ${count} 条。`,
  nothing: "还没有可以找的内容。",
  found: (milliseconds) => `最相近的在前，用时 ${milliseconds} 毫秒`,
  similarity: "相似度",
  cut: "只搜索开头部分",
  download: "正在下载模型",
  verify: "正在校验模型",
  compile: "正在准备模型",
  vouch: "正在核对模型的结果",
  storage: "正在打开存储",
  index: "正在读取记忆",
  reindex: "正在重新读取记忆",
  of: (loaded, total) => `，${loaded} / ${total} MB`,
  kept: (count) => (count === 0 ? "你写下的内容会保存在这个浏览器里。" : `${count} 条记忆保存在这个浏览器里。`),
  forgetful: (count) => `${count} 条记忆只保留到页面关闭：这个浏览器不允许网页存储数据（例如隐私窗口）。`,
  here: (model) => `搜索使用模型 ${model}，在这台设备上运行。`,
  slow: "它在页面中运行，可能会卡顿。",
  problems: {
    aborted: "已停止。已下载的部分会保留，按“开始”继续。",
    model_load: "模型下载失败。请检查网络，然后按“开始”重试。",
    corrupted: "浏览器里保存的内容已损坏。请清除本站数据后重新开始。",
    quota_exceeded: "设备空间不足。请腾出空间后重试，原有内容没有丢失。",
    storage_blocked: "另一个标签页正打开着旧版本的记忆。请关闭它后重试。",
    schema_too_new: "这些记忆由更新版本的页面写入。请刷新页面。",
    invalid_document: "这段文字无法保存：其中有损坏的字符。",
    closed: "记忆已关闭。按“开始”重新打开。",
  },
  otherProblem: "操作没有成功，内容没有丢失。请刷新页面重试。",
  details: "详情",
};

let words = EN;

/** The words of the language in use. */
export const say = () => words;

/** What a kind of memory is called; kinds that others wrote are shown as they are. */
export const kindName = (kind) => (["preference", "fact", "plan"].includes(kind) ? words[kind] : kind);

/** Puts the page into a language, `"en"` or `"zh"`. */
export function speak(code) {
  words = code === "zh" ? ZH : EN;
  document.documentElement.lang = code === "zh" ? "zh-CN" : "en";
  for (const place of document.querySelectorAll("[data-word]")) place.textContent = words[place.dataset.word];
}
