import { useEffect, useRef, useState } from "preact/hooks";
import type { TailView } from "../../../admin/views.ts";
import { apiBase } from "../api.ts";
import { count, credits, duration, routeName, shortCount, time } from "../format.ts";
import { Badge, StatusCode } from "../parts/badge.tsx";
import { Button } from "../parts/button.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Empty } from "../parts/states.tsx";
import { hrefOf } from "../router.ts";

const kept = 300;

interface Tailed {
  readonly lines: readonly TailView[];
  readonly connected: boolean;
}

/** The server's events, newest first; while paused they are counted but not shown. */
function useTail(paused: boolean): Tailed & { waiting: number; clear: () => void } {
  const [state, setState] = useState<Tailed>({ lines: [], connected: false });
  const held = useRef<TailView[]>([]);
  const [waiting, setWaiting] = useState(0);
  const pausedNow = useRef(paused);
  pausedNow.current = paused;

  useEffect(() => {
    const source = new EventSource(`${apiBase}/tail`);
    source.onopen = () => setState((before) => ({ ...before, connected: true }));
    source.onerror = () => setState((before) => ({ ...before, connected: false }));
    source.onmessage = (event) => {
      const line: TailView = JSON.parse(event.data);
      if (!pausedNow.current) {
        setState((before) => ({ ...before, lines: [line, ...before.lines].slice(0, kept) }));
        return;
      }
      held.current = [line, ...held.current].slice(0, kept);
      setWaiting(held.current.length);
    };
    return () => source.close();
  }, []);

  useEffect(() => {
    if (paused || held.current.length === 0) return;
    const missed = held.current;
    held.current = [];
    setWaiting(0);
    setState((before) => ({ ...before, lines: [...missed, ...before.lines].slice(0, kept) }));
  }, [paused]);

  return { ...state, waiting, clear: () => setState((before) => ({ ...before, lines: [] })) };
}

function TailRow({ of: line }: { of: TailView }) {
  return (
    <tr>
      <td data-name="Time" class="lead">
        {line.kept ? <a href={hrefOf(`exchanges?open=${line.id}`)}>{time(line.at)}</a> : time(line.at)}
      </td>
      <td data-name="Status">
        <StatusCode status={line.status} outcome={line.outcome} />
      </td>
      <td data-name="Route">{routeName(line.route)}</td>
      <td data-name="Model">{line.model ?? <span class="muted">–</span>}</td>
      <td data-name="Key">
        {line.key_prefix ? <code>{line.key_prefix}…</code> : <span class="muted">none</span>}
      </td>
      <td data-name="Ended">{line.error_code ? <code>{line.error_code}</code> : line.outcome}</td>
      <td data-name="Tokens" class="number">
        {shortCount(line.input_tokens)}
        <span class="muted"> → </span>
        {shortCount(line.output_tokens)}
      </td>
      <td data-name="Cost" class="number">
        {line.unit === "credits" ? credits(line.charged) : `${count(line.charged)} tokens`}
      </td>
      <td data-name="Duration" class="number">
        {duration(line.total_ms)}
      </td>
    </tr>
  );
}

export function Tail() {
  const [paused, setPaused] = useState(false);
  const tail = useTail(paused);
  return (
    <>
      <PageHead
        title="Live tail"
        about={tail.connected ? <Badge tone="good">connected</Badge> : <Badge tone="warn">connecting</Badge>}
      >
        <Button icon={paused ? "playground" : "stop"} onClick={() => setPaused(!paused)}>
          {paused ? `Go on (${count(tail.waiting)} waiting)` : "Pause"}
        </Button>
        <Button onClick={tail.clear}>Clear</Button>
      </PageHead>
      <div class="card flush tail">
        {tail.lines.length === 0 ? (
          <Empty icon="tail" title="Waiting for the next exchange">
            <p>Every call shows up here the moment it ends, refused ones too.</p>
          </Empty>
        ) : (
          <table class="rows">
            <thead>
              <tr>
                {["Time", "Status", "Route", "Model", "Key", "Ended"].map((name) => (
                  <th scope="col" key={name}>
                    {name}
                  </th>
                ))}
                {["Tokens", "Cost", "Duration"].map((name) => (
                  <th scope="col" key={name} class="number">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {tail.lines.map((line) => (
                <TailRow key={line.id} of={line} />
              ))}
            </tbody>
          </table>
        )}
      </div>
    </>
  );
}
