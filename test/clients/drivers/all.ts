import { aiSdk } from "./ai-sdk.ts";
import { anthropicMessages } from "./anthropic-messages.ts";
import type { Client } from "./client.ts";
import { googleGenAi } from "./google-genai.ts";
import { openAiChat } from "./openai-chat.ts";
import { openAiResponses } from "./openai-responses.ts";

/** Two libraries for each dialect: its maker's own, and the AI SDK. */
export const clients: readonly Client[] = [
  openAiChat,
  openAiResponses,
  anthropicMessages,
  googleGenAi,
  aiSdk.chat,
  aiSdk.responses,
  aiSdk.messages,
  aiSdk.gemini,
];
