import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";

/** What a page on another origin does with the gateway: everything that the official packages can do in a browser. */
export interface Seen {
  readonly models: readonly string[];
  readonly chat: string;
  readonly messages: string;
  readonly responses: string;
  readonly cost: string | null;
  readonly usage: number;
  readonly unauthorized: { readonly status: number; readonly requestId: string | null };
  readonly missing: { readonly status: number; readonly requestId: string | null };
}

async function visit(url: string, apiKey: string): Promise<Seen> {
  const openai = new OpenAI({
    baseURL: `${url}/v1`,
    apiKey,
    maxRetries: 0,
    dangerouslyAllowBrowser: true,
  });
  const anthropic = new Anthropic({
    baseURL: url,
    apiKey: null,
    authToken: apiKey,
    maxRetries: 0,
    dangerouslyAllowBrowser: true,
  });
  const messages = [{ role: "user" as const, content: "fast" }];
  const chat = await openai.chat.completions.stream({ model: "demo-small", messages }).finalChatCompletion();
  const message = await anthropic.messages
    .stream({ model: "demo-small", max_tokens: 500, messages })
    .finalMessage();
  const { data: response, response: raw } = await openai.responses
    .create({ model: "demo-small", input: "fast" })
    .withResponse();
  const usage = await fetch(`${url}/v1/usage`, { headers: { authorization: `Bearer ${apiKey}` } });
  return {
    models: (await anthropic.models.list()).data.map(({ id }) => id),
    chat: chat.choices[0]?.message.content ?? "",
    messages: message.content.map((block) => (block.type === "text" ? block.text : "")).join(""),
    responses: response.output_text,
    cost: raw.headers.get("x-sluice-cost"),
    usage: usage.status,
    unauthorized: await refused(fetch(`${url}/v1/usage`, { headers: { authorization: "Bearer slu_wrong" } })),
    missing: await refused(fetch(`${url}/v1/nowhere`, { headers: { authorization: `Bearer ${apiKey}` } })),
  };
}

async function refused(request: Promise<Response>): Promise<Seen["missing"]> {
  const response = await request;
  return { status: response.status, requestId: response.headers.get("x-request-id") };
}

Object.assign(globalThis, { visit });
