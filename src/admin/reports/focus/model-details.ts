/** The properties of a model in `SkuPriceDetails`, where its id shows them. */
export interface SkuModel {
  readonly ModelDeveloper?: string;
  readonly ModelFamily?: string;
  readonly ModelId: string;
  readonly ModelVersion?: string;
}

/** Developers by the families of their models. A longer family is before the shorter one that it begins with. */
const developers = {
  OpenAI: [
    "gpt-image",
    "gpt-oss",
    "gpt",
    "chatgpt",
    "codex",
    "text-embedding",
    "dall-e",
    "whisper",
    "tts",
    "sora",
    "o",
  ],
  Anthropic: ["claude"],
  Google: ["gemini", "gemma", "imagen", "veo", "text-multilingual-embedding"],
  Meta: ["llama"],
  "Mistral AI": [
    ...["mistral", "open-mistral", "mixtral", "open-mixtral", "ministral", "codestral", "magistral"],
    ...["devstral", "pixtral", "voxtral"],
  ],
  DeepSeek: ["deepseek"],
  Alibaba: ["qwen", "qwq", "qvq", "text-embedding-v"],
  xAI: ["grok"],
  Cohere: ["command", "embed", "rerank", "aya", "c4ai"],
  "Moonshot AI": ["kimi", "moonshot"],
  "Z.ai": ["glm"],
  MiniMax: ["minimax"],
  Amazon: ["nova", "titan"],
  Microsoft: ["phi", "mai"],
  "Voyage AI": ["voyage"],
  Perplexity: ["sonar"],
  NVIDIA: ["nemotron"],
  "AI21 Labs": ["jamba"],
} as const satisfies Readonly<Record<string, readonly string[]>>;

const families = Object.entries(developers)
  .flatMap(([developer, names]) => names.map((family) => ({ developer, family })))
  .sort((a, b) => b.family.length - a.family.length);

/** `4-5`, `5.6`, `3`, `k3`; neither a date nor a number of parameters, such as `70b`. */
const versionForm = /(?:^|[-_.]|(?<=^[a-z]{1,9}))([kmrv]?\d{1,2}(?:[.-]\d{1,2})*)(?![\d.]|[bkx](?![a-z]))/;

/** `id` is the model's id at its provider, such as `us.anthropic.claude-sonnet-4-5-20250929-v1:0`. */
export function modelDetails(id: string): SkuModel {
  const name = id.toLowerCase();
  for (const { developer, family } of families) {
    const at = placeOf(name, family);
    if (at === -1) continue;
    const [, version] = versionForm.exec(name.slice(at + family.length)) ?? [];
    return {
      ModelDeveloper: developer,
      ModelFamily: family,
      ModelId: id,
      ...(version === undefined ? {} : { ModelVersion: version.replaceAll("-", ".") }),
    };
  }
  return { ModelId: id };
}

/** Where a segment of the name begins with the family, followed by a digit or a separator; else -1. */
function placeOf(name: string, family: string): number {
  for (let at = name.indexOf(family); at !== -1; at = name.indexOf(family, at + 1)) {
    const after = name[at + family.length] ?? "-";
    const isBegin = at === 0 || "/.".includes(name[at - 1] ?? "");
    // `o` alone is a family only with its number: `o3`.
    if (isBegin && (family === "o" ? /\d/ : /[\d\-_.:]/).test(after)) return at;
  }
  return -1;
}
