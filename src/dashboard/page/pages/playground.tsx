import { useRef, useState } from "preact/hooks";
import type { ModelView, Page, RouteView } from "../../../admin/views.ts";
import { api } from "../api.ts";
import { useLoaded } from "../loaded.ts";
import { Button } from "../parts/button.tsx";
import { Field, SelectField, TextField } from "../parts/field.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Segmented } from "../parts/segmented.tsx";
import { type PageDialect, pageDialects } from "../playground/dialects.ts";
import { type Run, run } from "../playground/run.ts";
import { query } from "../router.ts";
import { type ChosenKey, firstChoice, KeyChoice } from "./playground-key.tsx";
import { RunView } from "./playground-run.tsx";

const dialects: Readonly<Record<string, PageDialect>> = pageDialects;

export function Playground() {
  const models = useLoaded("models", () => api.get<Page<ModelView>>("/models"));
  const routes = useLoaded("routes", () => api.get<Page<RouteView>>("/routes"));
  const [key, setKey] = useState<ChosenKey>(firstChoice);
  const [dialect, setDialect] = useState("chat");
  const [chosenModel, setModel] = useState(query.value.get("model") ?? "");
  const [system, setSystem] = useState("");
  const [text, setText] = useState("Say hello in three languages.");
  const [maxTokens, setMaxTokens] = useState("256");
  const [stream, setStream] = useState(true);
  const [current, setCurrent] = useState<Run | null>(null);
  const stopper = useRef<AbortController | null>(null);

  const places = (routes.value?.data ?? []).flatMap(({ path, mode, dialect: name }) => {
    const known = name === null || mode !== key.mode ? undefined : dialects[name];
    return name === null || known === undefined
      ? []
      : [{ value: name, text: known.name, path, dialect: known }];
  });
  const place = places.find(({ value }) => value === dialect);
  const names = models.value?.data.map((model) => model.id) ?? [];
  const model = chosenModel === "" ? (names[0] ?? "") : chosenModel;
  const running = current?.state === "running";

  const send = (event: Event) => {
    event.preventDefault();
    if (place === undefined) return;
    const limit = maxTokens.trim() === "" ? null : Number(maxTokens);
    const question = { model, system, text, maxTokens: limit, stream };
    stopper.current = new AbortController();
    const call = { secret: key.secret.trim(), path: place.path, dialect: place.dialect, question };
    void run(call, stopper.current.signal, setCurrent);
  };

  return (
    <>
      <PageHead
        title="Playground"
        about="Calls this gateway as a client would, with a key, and pays for it."
      />
      <div class="playground">
        <form class="card" onSubmit={send}>
          <KeyChoice chosen={key} onChoose={setKey} />
          <Segmented label="Dialect" value={dialect} choices={places} onValue={setDialect} />
          <SelectField
            label="Model"
            value={model}
            choices={names.map((name) => ({ value: name, text: name }))}
            onValue={setModel}
          />
          <TextField label="System" value={system} onValue={setSystem} placeholder="none" />
          <Field label="Message">
            {(id) => (
              <textarea
                id={id}
                rows={5}
                value={text}
                required
                onInput={(event) => setText(event.currentTarget.value)}
              />
            )}
          </Field>
          <div class="pair">
            <TextField label="Most tokens" value={maxTokens} onValue={setMaxTokens} inputMode="numeric" />
            <label class="tick">
              <input
                type="checkbox"
                checked={stream}
                onChange={(event) => setStream(event.currentTarget.checked)}
              />
              Stream
            </label>
          </div>
          {running ? (
            <Button icon="stop" onClick={() => stopper.current?.abort()}>
              Stop
            </Button>
          ) : (
            <Button
              type="submit"
              kind="primary"
              icon="playground"
              disabled={key.secret.trim() === "" || place === undefined}
            >
              Send
            </Button>
          )}
        </form>
        <RunView run={current} />
      </div>
    </>
  );
}
