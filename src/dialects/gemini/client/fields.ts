import type { FieldDecisions } from "../../contract/field-decisions.ts";
import { unsupported } from "../../contract/field-decisions.ts";

const needsGoogle = { rejected: unsupported } as const;

/** The fields of a request, as Google documents them. The path's facts are members of the body, too. */
export const requestFields: FieldDecisions = {
  model: "carried",
  stream: "carried",
  contents: "carried",
  systemInstruction: "carried",
  tools: "carried",
  toolConfig: "carried",
  generationConfig: "carried",
  serviceTier: "carried",
  cachedContent: needsGoogle,
  safetySettings: "dropped",
  modelArmorConfig: "dropped",
  continuationToken: "dropped",
  labels: "dropped",
  store: "dropped",
};

export const configFields: FieldDecisions = {
  maxOutputTokens: "carried",
  temperature: "carried",
  topP: "carried",
  topK: "carried",
  stopSequences: "carried",
  responseMimeType: "carried",
  responseSchema: "carried",
  responseJsonSchema: "carried",
  _responseJsonSchema: "carried",
  responseFormat: "carried",
  responseModalities: "carried",
  speechConfig: "carried",
  imageConfig: "carried",
  thinkingConfig: "carried",
  candidateCount: { rejected: "can only be 1 for this model's provider", except: [1] },
  responseLogprobs: { rejected: unsupported, except: [false] },
  logprobs: needsGoogle,
  seed: "dropped",
  presencePenalty: "dropped",
  frequencyPenalty: "dropped",
  mediaResolution: "dropped",
  audioTimestamp: "dropped",
  routingConfig: "dropped",
};
