// What a visitor can choose: a language, its model, and a few memories to begin with.

const AT = document.querySelector('meta[name="burrow-models"]')?.content;

/** A preset, with this server's copy of its file where there is one. */
function source(preset) {
  if (!AT) return { preset };
  return { preset, url: new URL(`${AT}${preset}/model_quantized.onnx`, location.href).href };
}

export const LANGUAGES = {
  en: {
    label: "English",
    model: "bge-small-en-v1.5",
    size: "34 MB",
    database: "burrow-demo-en",
    embed: source("bge-small-en-v1.5"),
    about: "Ada",
    question: "what could I cook for her?",
    examples: [
      ["Ada", "preference", "She does not eat meat, and loves anything with mushrooms."],
      ["Ada", "fact", "Her sister lives in Lisbon and visits every spring."],
      ["Ada", "preference", "Prefers short answers with one example."],
      ["Project Heron", "plan", "The release is planned for the second week of March."],
      ["Project Heron", "fact", "The parser is written in Rust and runs in the browser."],
      ["Home", "fact", "The boiler was last serviced in October."],
    ],
  },
  zh: {
    label: "中文",
    model: "bge-small-zh-v1.5",
    size: "24 MB",
    database: "burrow-demo-zh",
    embed: source("bge-small-zh-v1.5"),
    about: "小林",
    question: "晚饭给她做什么？",
    examples: [
      ["小林", "preference", "她不吃肉，特别喜欢蘑菇做的菜。"],
      ["小林", "fact", "她姐姐住在里斯本，每年春天来看她。"],
      ["小林", "preference", "喜欢简短的回答，最好带一个例子。"],
      ["苍鹭项目", "plan", "计划三月第二周发布。"],
      ["苍鹭项目", "fact", "解析器用 Rust 写成，在浏览器里运行。"],
      ["家里", "fact", "锅炉上一次保养是在十月。"],
    ],
  },
};

const REMEMBERED = "burrow-demo-language";

/** The language chosen last time, so that a reload goes on where it was. */
export function rememberedLanguage() {
  try {
    const language = localStorage.getItem(REMEMBERED);
    return Object.hasOwn(LANGUAGES, language) ? language : undefined;
  } catch {
    return undefined; // A browser that refuses storage; the store says so too.
  }
}

/** Keeps the choice. */
export function rememberLanguage(language) {
  try {
    localStorage.setItem(REMEMBERED, language);
  } catch {
    // Then it is asked again.
  }
}
