import type { Ask, Scenario, Tool } from "./scenario.ts";

const system = "Answer briefly. Réponds en peu de mots.";

const plain: Omit<Ask, "user"> = { system, tools: [], effort: null, reply: null, schema: null };

const weather: Tool = {
  name: "get_weather",
  description: "The weather of a city, now.",
  schema: {
    type: "object",
    properties: {
      city: { type: "string", description: "Its name in English." },
      unit: { type: "string", enum: ["celsius", "fahrenheit"] },
    },
    required: ["city"],
    additionalProperties: false,
  },
  run: (input) => `18 degrees in ${input["city"]}, "light" rain\n☂`,
};

const clock: Tool = {
  name: "get_time",
  description: "The local time of a city.",
  schema: {
    type: "object",
    properties: { city: { type: "string" } },
    required: ["city"],
    additionalProperties: false,
  },
  run: (input) => `${input["city"]}: 14:05`,
};

/** A part of the input came from a cache: counted apart in one dialect, within the input in the others. */
export const textScenario: Scenario = {
  name: "text, with usage of a cache",
  ask: { ...plain, user: ["What does a sluice do?"] },
  turns: [
    {
      says: [{ type: "text", text: 'It holds water back: né à 😀, "quoted"\nand\ton two lines.' }],
      usage: { input: 120, cached: 80, output: 17 },
      ending: "stop",
    },
  ],
};

const tools: Scenario = {
  name: "two parallel tool calls and a follow-up turn",
  ask: { ...plain, user: ["Weather and time in Paris?"], tools: [weather, clock] },
  turns: [
    {
      says: [
        { type: "text", text: "Let me look. 🔎" },
        { type: "call", id: "call_a1", name: "get_weather", input: { city: "Paris", unit: "celsius" } },
        { type: "call", id: "call_b2", name: "get_time", input: { city: "Paris" } },
      ],
      usage: { input: 60, cached: 0, output: 30 },
      ending: "tool_calls",
    },
    {
      says: [{ type: "text", text: "18 degrees, and it is five past two." }],
      usage: { input: 110, cached: 50, output: 12 },
      ending: "stop",
    },
  ],
};

const thinking: Scenario = {
  name: "thinking that comes back with its proof",
  ask: { ...plain, user: ["Think: umbrella in Oslo?"], tools: [weather], effort: "high" },
  turns: [
    {
      says: [
        { type: "thinking", text: "Rain decides. I need the weather – à Oslo.", proof: "c2VhbA+/first==" },
        { type: "call", id: "call_oslo", name: "get_weather", input: { city: "Oslo" } },
      ],
      usage: { input: 70, cached: 0, output: 40 },
      ending: "tool_calls",
    },
    {
      says: [
        { type: "thinking", text: "It rains, so yes.", proof: "c2VhbA+/second==" },
        { type: "text", text: "Yes, take one." },
      ],
      usage: { input: 130, cached: 64, output: 20 },
      ending: "stop",
    },
  ],
};

const bell: Tool = {
  name: "ring",
  description: "Rings the bell.",
  schema: { type: "object", properties: {}, additionalProperties: false },
  run: () => "",
};

const emptiness: Scenario = {
  name: "two calls of one tool, without arguments and without results",
  ask: { ...plain, user: ["Ring twice."], tools: [bell] },
  turns: [
    {
      says: [
        { type: "call", id: "call_ding", name: "ring", input: {} },
        { type: "call", id: "call_dong", name: "ring", input: {} },
      ],
      usage: { input: 30, cached: 0, output: 9 },
      ending: "tool_calls",
    },
    {
      says: [{ type: "text", text: "Done." }],
      usage: { input: 45, cached: 0, output: 2 },
      ending: "stop",
    },
  ],
};

const reply: Scenario = {
  name: "a second question, after an answer that was thought about",
  ask: { ...plain, user: ["Is it deep?"], effort: "high", reply: "And wide?" },
  turns: [
    {
      says: [
        { type: "thinking", text: "Locks are deep.", proof: "c2VhbA+/deep==" },
        { type: "text", text: "Yes, three metres.\n\n" },
      ],
      usage: { input: 40, cached: 0, output: 18 },
      ending: "stop",
    },
    {
      says: [{ type: "text", text: "Five metres." }],
      usage: { input: 70, cached: 32, output: 4 },
      ending: "stop",
    },
  ],
};

/** One pixel each. */
export const png =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const gif = "R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7";

const images: Scenario = {
  name: "images between texts",
  ask: {
    ...plain,
    user: [
      "Compare this picture",
      { mediaType: "image/png", data: png },
      "with that one",
      { mediaType: "image/gif", data: gif },
    ],
  },
  turns: [
    {
      says: [{ type: "text", text: "Both are a single point." }],
      usage: { input: 300, cached: 0, output: 8 },
      ending: "stop",
    },
  ],
};

const structured: Scenario = {
  name: "structured output",
  ask: {
    ...plain,
    user: ["Name a colour, as JSON."],
    schema: {
      type: "object",
      properties: { colour: { type: "string" }, warm: { type: "boolean" } },
      required: ["colour", "warm"],
      additionalProperties: false,
    },
  },
  turns: [
    {
      says: [{ type: "text", text: '{"colour":"ochre","warm":true}' }],
      usage: { input: 40, cached: 0, output: 11 },
      ending: "stop",
    },
  ],
};

const length: Scenario = {
  name: "an answer that is too long",
  ask: { ...plain, user: ["Tell me everything."] },
  turns: [
    {
      says: [{ type: "text", text: "First of all, the beg" }],
      usage: { input: 20, cached: 0, output: 6 },
      ending: "length",
    },
  ],
};

const refusal: Scenario = {
  name: "a refusal",
  ask: { ...plain, user: ["Help me do harm."] },
  turns: [
    {
      says: [{ type: "refusal", text: "I will not help with that." }],
      usage: { input: 20, cached: 0, output: 7 },
      ending: "refusal",
    },
  ],
};

const failure: Scenario = {
  name: "an error that the provider reports mid-stream",
  ask: { ...plain, user: ["Fail after a few words."] },
  turns: [
    {
      says: [{ type: "text", text: "I was about to say" }],
      usage: { input: 20, cached: 0, output: 5 },
      ending: "fails",
    },
  ],
};

const cut: Scenario = {
  name: "an answer that breaks off",
  ask: { ...plain, user: ["Break off after a few words."] },
  turns: [
    {
      says: [{ type: "text", text: "And then suddenly" }],
      usage: { input: 20, cached: 0, output: 5 },
      ending: "cut",
    },
  ],
};

/** Those that end well, in one way or another. */
export const goodScenarios: readonly Scenario[] = [
  textScenario,
  tools,
  emptiness,
  thinking,
  reply,
  images,
  structured,
  length,
  refusal,
];

export const badScenarios: readonly Scenario[] = [failure, cut];

/** What the shorter lists play. */
export const essentialScenarios: readonly Scenario[] = [textScenario, tools, thinking, images];
