import { traceHeaders } from "../../base/requests/trace-context.ts";
import { type InputEstimate, maxInputTokens } from "../../catalog/estimate.ts";
import type { ModelSettings } from "../../config/settings.ts";
import type { OutputLimit } from "../../dialects/contract/output-limit.ts";
import type { ForwardedHeaders } from "../../dialects/headers.ts";
import type { BodyChanges } from "../../dialects/json/patch.ts";
import { type ClientDialectName, clientDialect } from "../../dialects/registry.ts";
import type { Deployment } from "../../upstream/upstream.ts";
import { type RequestedExtras, tierOfLine } from "../charge/extras.ts";
import type { WantedHold } from "../charge/hold.ts";
import type { ClientRequest } from "../request/client-request.ts";
import type { RoutedCall } from "../request/route.ts";
import type { TurnInMaking } from "../turns/turn-body.ts";

/** A request within the limits of its model, and what it may cost in addition to its tokens. */
interface GenerationTerms {
  /** Changes to the body because of the model's limits. */
  readonly limit: OutputLimit;
  readonly estimatedInput: InputEstimate;
  readonly extras: RequestedExtras | null;
}

/** A generation request, independent of the provider. Immutable. */
export class Generation implements GenerationTerms {
  readonly call: RoutedCall;
  readonly model: ModelSettings;
  /** The request as it is sent: without tools that have no price. */
  readonly request: ClientRequest;
  readonly clientDialect: ClientDialectName;
  readonly stream: boolean;
  readonly headers: ForwardedHeaders;
  readonly trace: ForwardedHeaders | null;
  readonly limit: OutputLimit;
  readonly estimatedInput: InputEstimate;
  readonly extras: RequestedExtras | null;
  readonly atSeconds: number;
  /**
   * Whether the gateway or the provider stores the response, and the response that it continues; null if nothing is
   * stored here.
   */
  readonly keeping: TurnInMaking | null;
  readonly isCompactedUpstream: boolean;

  constructor(call: RoutedCall, request: ClientRequest, { limit, estimatedInput, extras }: GenerationTerms) {
    const { exchange, dialect, turn } = call;
    this.call = call;
    this.model = call.model;
    this.request = request;
    this.clientDialect = dialect;
    this.stream = request.stream;
    this.headers = clientDialect(dialect).forwardHeaders(exchange.call.request.headers);
    this.trace = exchange.trace === null ? null : traceHeaders(exchange.trace);
    this.limit = limit;
    this.estimatedInput = estimatedInput;
    this.extras = extras;
    this.atSeconds = Math.floor(exchange.atMs / 1000);
    this.keeping = turn.keeping;
    this.isCompactedUpstream = turn.isCompactedUpstream;
  }

  /** The hold that it needs. */
  get wanted(): WantedHold {
    const { model, request, limit, estimatedInput, extras } = this;
    const { key, storedInput, requestedModel } = this.call;
    const input = maxInputTokens(estimatedInput, model.contextWindow) + storedInput;
    return {
      key,
      model,
      requestedModel,
      extras,
      atMost: { input, output: limit.maxOutputTokens },
      usual: { input: estimatedInput.tokens + storedInput, output: limit.maxOutputTokens },
      storedInput,
      requestBytes: request.bytes,
      canBeCounted: estimatedInput.unmeasured === 0,
    };
  }

  /** Changes to the body for every provider of this model: its limits, and the tier of a line. */
  changesAt({ model }: Pick<Deployment, "model">): BodyChanges {
    const { changes } = this.limit;
    const tier = tierOfLine(this.extras, model);
    return tier === null ? changes : { ...changes, service_tier: tier };
  }

  /** Whether the provider should store the response, so that a later request can refer to it by its id. */
  get isStoredUpstream(): boolean {
    const { keeping, request, clientDialect: dialect } = this;
    if (clientDialect(dialect).statelessChanges === undefined) return request.isThreaded;
    return keeping === null ? request.mayStore : keeping.isProviders;
  }

  /** Maximum web searches that a provider can run if it does not speak the client's dialect. */
  get webSearches(): number {
    return this.extras?.webSearches ?? 0;
  }
}
