import type { JsonObject } from "../../../src/base/json.ts";
import type { ProviderDialectName } from "../../../src/dialects/registry.ts";
import { type Answer, anthropicError, json, openAiError, sse, text } from "../../support/answers.ts";
import { type SeenRequest, startProvider } from "../../support/provider.ts";
import { tokenResponse, withNumbers } from "../conversation/clouds.ts";
import { Complaint, complain, type ProviderDialect } from "../conversation/dialect.ts";
import type { Said, Turn } from "../conversation/scenario.ts";
import { checkAddress, type Speaker, speakerAt } from "../conversation/speakers.ts";
import { compaction, isContinued, isTriggered, summaryTurn, triggeredCompaction } from "./compaction.ts";
import { type Errand, proofOf } from "./errand.ts";
import { type Overheard, overhear } from "./overhear.ts";

/** A model for agents: sends them on an errand, and looks at what they bring back. */
export interface AgentProvider {
  readonly url: string;
  /** The steps that were asked for, in order; the number of all steps stands for the farewell. */
  readonly steps: readonly number[];
  readonly complaints: readonly string[];
  send(errand: Errand): void;
  stop(): void;
}

export function startAgentProvider(): AgentProvider {
  const steps: number[] = [];
  const complaints: string[] = [];
  let errand: Errand = { steps: [], farewell: "" };
  let troubled = false;

  function answer(request: SeenRequest): Answer {
    const token = tokenResponse(request);
    if (token !== null) return token;
    if (/\/count(?:_tokens|-tokens:rawPredict)$/.test(request.path)) return json({ input_tokens: 1000 });
    if (request.path.endsWith(":countTokens")) return json({ totalTokens: 1000 });
    if (request.path.endsWith("/count-tokens")) return json({ inputTokens: 1000 });
    if (request.path.endsWith("/responses/input_tokens"))
      return json({ object: "response.input_tokens", input_tokens: 1000 });
    if (request.path.endsWith("/responses/compact")) return compaction;
    const speaker = speakerAt(request.path);
    const { dialect, wire } = speaker;
    try {
      checkAddress(request, speaker);
      const heard = overhearAt(speaker, request.body, errand);
      // Codex offers it by default, and no model here has a price for it.
      if (request.text.includes('"type":"web_search')) complain("a search is offered");
      const extraction = extractionFor(heard, errand);
      if (extraction !== null) return render(wire, extraction, request);
      if (isTriggered(request)) return triggeredCompaction(request, errand);
      if (!isAboutErrand(heard, errand)) {
        return render(wire, errand.summary === undefined ? aside : summaryTurn(request, errand), request);
      }
      const { problems = [] } = errand;
      if (problems.includes("too long")) return tooLong(speaker);
      if (problems.includes("no effort") && asksForEffort.test(request.text)) {
        return refusal(wire, "capability_rejected: effort_unsupported");
      }
      const turn = isContinued(request, errand) ? turnAt(errand.steps.length) : nextTurn(heard, dialect);
      if (!problems.includes("breaks off") || troubled) return render(wire, turn, request);
      troubled = true;
      return render(wire, { ...turn, ending: "cut" }, request);
    } catch (error) {
      if (!(error instanceof Complaint)) throw error;
      complaints.push(`${dialect}: ${error.message}`);
      return refusal(wire, error.message);
    }
  }

  function nextTurn(heard: Overheard, dialect: ProviderDialectName): Turn {
    const answered = new Set(heard.results.map(({ id }) => id));
    const step = errand.steps.filter(({ calls }) => calls.every(({ call }) => answered.has(call.id))).length;
    for (const [at, done] of errand.steps.slice(0, step).entries()) check(done, at, heard, dialect);
    if (errand.summary !== undefined && step === errand.steps.length) complain("nothing was compacted");
    return turnAt(step);
  }

  function turnAt(step: number): Turn {
    steps.push(step);
    return turnOf(errand, step);
  }

  const provider = startProvider(answer);
  return {
    url: provider.url,
    steps,
    complaints,
    send(next) {
      errand = next;
      troubled = false;
      steps.length = 0;
      complaints.length = 0;
    },
    stop: provider.stop,
  };
}

/** Where calls have no ids, their results come in the order of the errand. */
function overhearAt({ dialect, wire }: Speaker, body: JsonObject, { steps }: Errand): Overheard {
  if (wire.numbersCalls !== true) return overhear[dialect](body);
  const heard = overhear[dialect](withNumbers(body));
  const ids = steps.flatMap(({ calls }) => calls.map(({ call }) => call.id));
  return { ...heard, results: heard.results.map((result, place) => ({ ...result, id: ids[place] ?? "" })) };
}

/** Agents also send small requests besides their task, such as for its title, and offer no tools then. */
function isAboutErrand({ toolNames }: Overheard, { steps }: Errand): boolean {
  const [first] = steps.flatMap(({ calls }) => calls);
  return first !== undefined && toolNames.includes(first.call.name);
}

/** Instructor asks for a part of a `Place` by a tool named `PartialPlace`. */
function extractionFor({ toolNames }: Overheard, { extraction }: Errand): Turn | null {
  const name = toolNames.find((offered) => extraction !== undefined && offered.endsWith(extraction.name));
  if (name === undefined || extraction === undefined) return null;
  return { says: [{ ...extraction, name }], usage, ending: "tool_calls" };
}

const usage = { input: 1000, cached: 400, output: 50 };
const aside: Turn = { says: [{ type: "text", text: "An errand" }], usage, ending: "stop" };

function turnOf(errand: Errand, step: number): Turn {
  const next = errand.steps[step];
  if (next === undefined) return { says: [{ type: "text", text: errand.farewell }], usage, ending: "stop" };
  const { thinking, says: remark, calls } = next;
  const thought: Said[] =
    thinking === undefined ? [] : [{ type: "thinking", text: thinking, proof: proofOf(step) }];
  const text: Said[] = remark === undefined ? [] : [{ type: "text", text: remark }];
  const says = [...thought, ...text, ...calls.map(({ call }) => call)];
  return { says, usage, ending: "tool_calls", ...(errand.inSequence === true ? { inSequence: true } : {}) };
}

function check(
  { thinking, calls }: Errand["steps"][number],
  step: number,
  { results, pictures, proofs }: Overheard,
  dialect: ProviderDialectName,
): void {
  for (const { call, expects } of calls) {
    const result = results.find(({ id }) => id === call.id);
    const shown =
      typeof expects === "string" ? result?.text.includes(expects) : pictures.includes(expects.picture);
    if (result === undefined || shown !== true) complain(`${call.id} gave no`, expects, result, pictures);
  }
  if (thinking === undefined) return;
  const proof = dialect === "chat" ? thinking : proofOf(step);
  // Codex keeps what was thought before an answer broke off as well, so there may be more than that.
  if (!proofs.some((returned) => returned.includes(proof)))
    complain(`the thinking of step ${step} did not come back:`, proofs);
}

/** In any dialect. */
const asksForEffort = /"(?:effort|reasoning_effort|thinkingLevel)":"/;

function refusal(wire: ProviderDialect, message: string): Answer {
  return json(wire.failure(message), { status: 400 });
}

/** As the vendors word it. */
function tooLong({ dialect }: Speaker): Answer {
  if (dialect === "messages") {
    return anthropicError(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum");
  }
  if (dialect === "converse") {
    const words = "prompt is too long: 210000 tokens > 200000 maximum";
    return json({ message: words }, { status: 400, headers: { "x-amzn-errortype": "ValidationException" } });
  }
  if (dialect === "gemini") {
    const words = "The input token count (210000) exceeds the maximum number of tokens allowed (200000).";
    return json({ error: { code: 400, message: words, status: "INVALID_ARGUMENT" } }, { status: 400 });
  }
  const message =
    "This model's maximum context length is 200000 tokens. However, your messages resulted in 210000 tokens.";
  return openAiError(400, message, "context_length_exceeded");
}

function render(wire: ProviderDialect, turn: Turn, request: SeenRequest): Answer {
  const { body } = request;
  if (!wire.isAskedToStream(request)) {
    return text(withOwnId(JSON.stringify(wire.say(turn, body))), "application/json");
  }
  const frames = wire.stream(turn, body);
  const { streamType } = wire;
  if (streamType === undefined) return sse(withOwnId(frames.join("")));
  const bytes = Buffer.concat(frames.map((frame) => Buffer.from(frame)));
  return { ...sse(""), headers: { "content-type": streamType }, steps: [{ write: bytes }] };
}

/** LangGraph takes two answers of one id for the same one. */
function withOwnId(answer: string): string {
  return answer.replaceAll(/(chatcmpl-|resp_|msg_)upstream/g, `$1${crypto.randomUUID()}`);
}
