import { GatewayError, invalidRequest } from "../../base/errors.ts";
import { bodyPacer } from "../../base/loop/body-pacer.ts";
import type { ModelSettings } from "../../config/settings.ts";
import {
  isCharged,
  type MeteredRouteName,
  meteredRoute,
  meteredRouteNames,
} from "../../dialects/metered/registry.ts";
import { meteredDialect } from "../../dialects/metered/route.ts";
import { type ClientDialectName, clientDialect, clientDialectNames } from "../../dialects/registry.ts";
import type { BatchLine, NewLine } from "../../store/store.ts";
import { Generation } from "../attempt/generation.ts";
import { DetachedCall } from "../background/detached-call.ts";
import { amountOf, type WantedHold } from "../charge/hold.ts";
import { requestExtras } from "../charge/requested-extras.ts";
import { AdmittedCall } from "../exchange/admitted-call.ts";
import { Exchange } from "../exchange/exchange.ts";
import { meteredPlan } from "../metered/metered-call.ts";
import { priceMetered } from "../metered/pricing.ts";
import { expectedOf } from "../request/check-body.ts";
import type { ClientRequest } from "../request/client-request.ts";
import {
  findModel,
  rejectForbidden,
  rejectInBatch,
  rejectIncapable,
  rejectUnpriced,
} from "../request/model.ts";
import { checkRead } from "../request/read-request.ts";
import { noTurn, RoutedCall } from "../request/route.ts";
import type { BatchRequest } from "./batch-object.ts";
import { LineOrigin } from "./line-origin.ts";

/** Lines are read for so long before others continue. */
const sliceMs = 3;

/** What the lines of a batch would hold in all, at the prices of now. A line that would be rejected holds nothing. */
export class BatchEstimate {
  readonly #admitted: AdmittedCall;
  readonly #dialect: ClientDialectName | null;
  readonly #metered: MeteredRouteName | null;
  readonly #models = new Set<string | null>();
  #sliceEndsMs = 0;
  total = 0;

  /** `call` creates the batch. */
  constructor(
    { gateway, exchange, key }: AdmittedCall,
    endpoint: string,
    { headers, address }: BatchRequest,
  ) {
    const { route } = exchange.call;
    const call = new DetachedCall({
      ...{ route, keyId: key.id, origin: new LineOrigin({ batchId: "", no: 0 }) },
      call: { path: endpoint, address, headers },
    });
    this.#admitted = new AdmittedCall(gateway, new Exchange(call, gateway), key);
    this.#dialect = clientDialectNames.find((name) => clientDialect(name).route.path === endpoint) ?? null;
    this.#metered = meteredRouteNames.find((name) => meteredRoute(name).paths.includes(endpoint)) ?? null;
  }

  /** Returns the line with its model. */
  async add(line: BatchLine, body: Uint8Array): Promise<NewLine> {
    if (performance.now() >= this.#sliceEndsMs) {
      await bodyPacer.wait();
      this.#sliceEndsMs = performance.now() + sliceMs;
    }
    const { model, amount } = await this.#estimate(body);
    this.total = Math.min(this.total + amount, Number.MAX_SAFE_INTEGER);
    this.#models.add(model);
    return { ...line, model };
  }

  /** The model of all lines; null if they have several, or one has none. */
  get model(): string | null {
    const [model = null, ...others] = this.#models;
    return others.length === 0 ? model : null;
  }

  async #estimate(body: Uint8Array): Promise<{ readonly model: string | null; readonly amount: number }> {
    let model: ModelSettings | null = null;
    try {
      const request = await this.#read(body);
      model = this.#modelOf(request);
      const amount = await this.#amountOf(request, model);
      return { model: model.id, amount };
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      return { model: model?.id ?? null, amount: 0 };
    }
  }

  #read(body: Uint8Array): Promise<ClientRequest> {
    const { exchange, configured } = this.#admitted;
    const kind = this.#dialect ?? this.#metered;
    if (kind === null) throw invalidRequest("No request is sent there.");
    const expected = expectedOf(exchange.call, kind, configured.settings.server);
    return checkRead(this.#admitted, body, expected);
  }

  #modelOf({ modelId }: ClientRequest): ModelSettings {
    const { configured, key } = this.#admitted;
    const use = this.#metered === null ? undefined : meteredRoute(this.#metered).use;
    const model = findModel(configured, key, modelId ?? "", use);
    rejectForbidden(configured, key, model);
    rejectInBatch(model);
    return model;
  }

  async #amountOf(request: ClientRequest, model: ModelSettings): Promise<number> {
    const { key, exchange } = this.#admitted;
    const [dialect, metered] = [this.#dialect ?? meteredDialect, this.#metered];
    const place = { scope: key.scope, credential: null, storedInput: 0 };
    const read = { request, turn: noTurn };
    const routed = new RoutedCall(this.#admitted, read, model, dialect, null, place);
    if (metered !== null && !isCharged(meteredRoute(metered))) return 0;
    rejectUnpriced(key, model);
    const wanted = metered === null ? wantedOf(routed) : await wantedOfMetered(routed, metered);
    return amountOf(exchange, wanted, wanted.atMost);
  }
}

function wantedOf(routed: RoutedCall): WantedHold {
  const { request, model, dialect } = routed;
  const { truncated, stream } = request;
  if (stream) throw invalidRequest("No line is streamed.");
  rejectIncapable(truncated, model, dialect);
  const limit = clientDialect(dialect).limitOutput(truncated, model);
  const extras = requestExtras(request, routed);
  return new Generation(routed, request, { limit, extras, estimatedInput: request.estimateInput() }).wanted;
}

async function wantedOfMetered(routed: RoutedCall, name: MeteredRouteName): Promise<WantedHold> {
  const pricing = await priceMetered(routed, name, null);
  return meteredPlan(routed, name, meteredRoute(name), null, pricing).wanted;
}
