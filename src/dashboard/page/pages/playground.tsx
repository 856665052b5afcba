import { useEffect, useRef, useState } from "preact/hooks";
import type { KeyView } from "../../../admin/keys/schema.ts";
import type { ModelBriefView } from "../../../admin/models/schema.ts";
import type { Page } from "../../../admin/routes/shapes.ts";
import type { RouteView } from "../../../admin/system/schema.ts";
import { useAnswer } from "../api.ts";
import { preferredFor } from "../example-model.ts";
import { modelChoices, useModels } from "../model-list.ts";
import { Button } from "../parts/button.tsx";
import { ComboField } from "../parts/combo-box.tsx";
import { SelectField } from "../parts/field.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { forgetAnswer } from "../playground/answer.ts";
import { takeRecorded } from "../playground/recorded.ts";
import { type PageRoute, pageRoutes } from "../playground/routes.ts";
import { type Run, run } from "../playground/run.ts";
import { query } from "../router.ts";
import { firstForm, QuestionFields, RecordedFields } from "./playground-form.tsx";
import { type ChosenKey, firstChoice, KeyChoice, useKeyOf } from "./playground-key.tsx";
import { RunViews } from "./playground-run.tsx";

/** A route of the server that the page has a form for. */
interface Place extends RouteView {
  readonly name: string;
  readonly route: PageRoute;
}

/** Deduplicated, because some routes have several paths. */
function placesFor(routes: readonly RouteView[], mode: KeyView["mode"]): readonly Place[] {
  const places = new Map<string, Place>();
  for (const view of routes) {
    const name = view.dialect ?? view.operation;
    const route = pageRoutes[name];
    if (view.mode === mode && view.method === "POST" && route && !places.has(name))
      places.set(name, { ...view, name, route });
  }
  return [...places.values()];
}

function useRuns() {
  const [runs, setRuns] = useState<readonly Run[]>([]);
  const stopper = useRef(new AbortController());
  const shown = useRef(runs);
  shown.current = runs;
  const forget = () => {
    for (const { answer } of shown.current) forgetAnswer(answer);
  };
  useEffect(
    () => () => {
      stopper.current.abort();
      forget();
    },
    [],
  );
  return {
    runs,
    isRunning: runs.some(({ state }) => state === "running"),
    stop: () => stopper.current.abort(),
    start(calls: readonly Parameters<typeof run>[0][]) {
      forget();
      stopper.current = new AbortController();
      const { signal } = stopper.current;
      setRuns([]);
      for (const [place, call] of calls.entries()) {
        void run(call, signal, (now) =>
          setRuns((before) => (stopper.current.signal === signal ? before.toSpliced(place, 1, now) : before)),
        );
      }
    },
  };
}

export function Playground() {
  const models = useModels();
  const routes = useAnswer<Page<RouteView>>("/routes");
  const [chosen, setChosen] = useState<ChosenKey>(firstChoice);
  const [recorded] = useState(takeRecorded);
  const [routeName, setRouteName] = useState("");
  const [body, setBody] = useState(recorded?.body ?? "");
  const [chosenModel, setModel] = useState(recorded?.model ?? query.value.get("model") ?? "");
  const [other, setOther] = useState("");
  const [form, setForm] = useState(firstForm);
  const { runs, isRunning, start, stop } = useRuns();
  const key = useKeyOf(chosen.secret);

  const places = placesFor(routes.value?.data ?? [], key?.mode ?? "credit");
  const serves = (candidate: ModelBriefView, use: string | null | undefined) =>
    candidate.serves.some((served) => served === use);
  const served = models.value?.data.filter(({ id }) => id === chosenModel) ?? [];
  const place =
    places.find(({ name }) => name === routeName) ??
    places.find(({ path }) => path === recorded?.route) ??
    places.find(({ use }) => served.some((candidate) => serves(candidate, use))) ??
    places[0];
  const serving = models.value?.data.filter((candidate) => serves(candidate, place?.use)) ?? [];
  const names = serving.map(({ id }) => id);
  const model = names.includes(chosenModel) ? chosenModel : (preferredFor("curl", serving) ?? "");
  const second = names.includes(other) && other !== model ? other : "";

  const send = (event: Event) => {
    event.preventDefault();
    if (place === undefined || isRunning) return;
    const maxTokens = form.maxTokens.trim() === "" ? null : Number(form.maxTokens);
    const models = second === "" ? [model] : [model, second];
    start(
      models.map((name) => ({
        secret: chosen.secret.trim(),
        path: place.path,
        route: place.route,
        question: { ...form, maxTokens, model: name },
        ...(body === "" ? {} : { body }),
      })),
    );
  };

  return (
    <>
      <PageHead
        title="Playground"
        about="Calls this gateway with a key, like a client. Requests are charged."
      />
      <div class="playground">
        <form class="card stack" onSubmit={send}>
          <KeyChoice chosen={chosen} apiKey={key} onChoose={setChosen} />
          <SelectField
            label="Route"
            state={[place?.name ?? "", setRouteName]}
            choices={places.map(({ name, route }) => ({ value: name, text: route.name }))}
            hint={place && <code>POST {place.path}</code>}
          />
          <ComboField
            label="Model"
            state={[model, setModel]}
            choices={modelChoices(serving)}
            hint={
              models.value !== null && place?.use && names.length === 0 ? (
                <>
                  No model serves this: add <code>serves = ["{place.use}"]</code> to one in the configuration.
                </>
              ) : undefined
            }
          />
          {names.length > 1 && (
            <ComboField
              label="Compare with"
              state={[second, setOther]}
              choices={modelChoices(serving.filter(({ id }) => id !== model))}
              placeholder="no second model"
            />
          )}
          {place && body === "" && <QuestionFields route={place.route} form={form} onForm={setForm} />}
          {body !== "" && <RecordedFields state={[body, setBody]} />}
          {isRunning ? (
            // A key each: one element that turns from Stop into Send would submit the form by the same click.
            <Button key="stop" icon="stop" onClick={stop}>
              Stop
            </Button>
          ) : (
            <Button
              key="send"
              type="submit"
              kind="primary"
              icon="playground"
              disabled={chosen.secret.trim() === "" || place === undefined || model === ""}
            >
              Send
            </Button>
          )}
        </form>
        <RunViews runs={runs} />
      </div>
    </>
  );
}
