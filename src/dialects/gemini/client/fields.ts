import { carried, dropped, type FieldDecisions, unsupported } from "../../contract/field-decisions.ts";

const needsGoogle = { rejected: unsupported } as const;

/** The fields of a request, as Google documents them. The path's facts are members of the body, too. */
export const requestFields: FieldDecisions = {
  ...carried("model", "stream", "contents", "systemInstruction", "tools", "toolConfig"),
  ...carried("generationConfig", "serviceTier"),
  ...dropped("safetySettings", "modelArmorConfig", "continuationToken", "labels", "store"),
  cachedContent: needsGoogle,
};

export const configFields: FieldDecisions = {
  ...carried("maxOutputTokens", "temperature", "topP", "topK", "stopSequences", "responseMimeType"),
  ...carried("responseSchema", "responseJsonSchema", "_responseJsonSchema", "responseFormat"),
  ...carried("responseModalities", "speechConfig", "imageConfig", "thinkingConfig"),
  ...dropped("seed", "presencePenalty", "frequencyPenalty", "mediaResolution", "audioTimestamp"),
  ...dropped("routingConfig"),
  candidateCount: { rejected: "can only be 1 for this model's provider", except: [1] },
  responseLogprobs: { rejected: unsupported, except: [false] },
  logprobs: needsGoogle,
};
