// Which part of the state is drawn where; a part is drawn again only when its data changed.

import { Domains } from "./domains.js";
import { absent, byId, el, setLive } from "./dom.js";
import { evalSet, loss } from "./format.js";
import { HeroFigure } from "./hero.js";
import { LadderFigure } from "./ladder.js";
import { health, others, promises, runsShort, runsTable, samples, settings, spent, timeline } from "./lists.js";
import { MixtureFigure, corpusTable, opening, stagesTable } from "./mixture.js";
import { Rail } from "./rail.js";
import { Router } from "./router.js";
import { TrainFigure } from "./train.js";

/** @typedef {import("./types.js").PageState} PageState */

export class Parts {
  constructor() {
    /** @type {Map<string, string>} */
    this.drawn = new Map();
    this.hero = new HeroFigure(byId("hero"));
    this.train = new TrainFigure(byId("train"));
    this.ladder = new LadderFigure(byId("ladder-chart"), byId("ladder-words"));
    this.mixture = new MixtureFigure(byId("mixture"), byId("mixture-words"));
    this.domains = new Domains(byId("domain-panels"), byId("domains-words"));
    this.router = new Router(byId("router-maps"), byId("router-words"));
    this.rail = new Rail(byId("rail"));
  }

  /** @param {PageState} state */
  draw(state) {
    this.part("live", state.progress.phase, () => {
      setLive(state.progress.phase === "running" || state.progress.phase === "planned");
      this.drawn.clear();
    });
    this.part("title", state.title, () => {
      byId("title").textContent = state.title;
      byId("question").textContent = state.question ?? "";
    });
    this.part("rail", [state.progress.rail, state.progress.seconds_left], () => this.rail.set(state.progress));
    this.part("hero", state.hero, () => this.shown("hero", "Loss", state.hero, (chart) => this.hero.set(chart)));
    const train = state.hero?.train && state.hero.evals ? state.hero : null;
    this.part("train", train && [train.train, train.num_steps], () => {
      byId("train").hidden = train === null;
      if (train) this.train.set(train);
    });
    this.part("ladder", state.ladder, () => this.shown("ladder-chart", "Ladder", state.ladder, (chart) => this.ladder.set(chart)));
    this.part("hero-note", [state.hero?.metric, state.ladder?.metric, state.ladder?.measured, state.ladder?.forecast], () => heroNote(state));
    this.part("domains", state.domains, () => this.shown("domain-panels", "Loss by domain", state.domains, (chart) => this.domains.set(chart)));
    this.part("mixture", state.mixture, () => this.shown("mixture", "Mixture", state.mixture, (chart) => this.mixture.set(chart)));
    this.part("router", state.router, () => this.shown("router-maps", "Router", state.router, (chart) => this.router.set(chart)));
    this.part("runs-short", state.progress.runs, () => byId("runs-short").replaceChildren(...runsShort(state.progress)));
    this.part("health", state.health, () => byId("health").replaceChildren(...health(state.health)));
    this.part("promises", state.promises, () => byId("promises").replaceChildren(promises(state.promises)));
    this.part("spent", [state.progress.stages, state.progress.runs], () => byId("spent").replaceChildren(...spent(state.progress)));
    this.part("runs", state.progress.runs, () => byId("runs").replaceChildren(...runsTable(state.progress)));
    this.part("others", state.ladder?.others, () => byId("others").replaceChildren(...others(state.ladder)));
    this.part("corpus", state.corpus, () => byId("corpus").replaceChildren(...corpusTable(state.corpus)));
    this.part("stages", state.data_stages, () => byId("stages").replaceChildren(...stagesTable(state.data_stages)));
    this.part("opening", [state.hero === null, state.data_stages], () => byId("opening").replaceChildren(...(state.hero ? [] : opening(state.data_stages))));
    this.part("samples", state.samples, () => byId("sample-list").replaceChildren(...samples(byId("samples-words"), state.samples)));
    this.part("timeline", state.timeline, () => timeline(byId("told"), byId("timeline-words"), state.timeline));
    this.part("settings", state.settings, () => settings(byId("settings"), byId("settings-words"), state.settings));
    this.part("foot", [state.fingerprint, state.hero?.band?.sha256], () => foot(state));
  }

  /** @param {string} name @param {unknown} data @param {() => void} draw */
  part(name, data, draw) {
    const key = JSON.stringify(data) ?? "";
    if (this.drawn.get(name) === key) return;
    draw();
    this.drawn.set(name, key);
  }

  /**
   * Draw a chart, or say in its place that it is not published.
   * @template T
   * @param {string} id
   * @param {string} name
   * @param {T | null} chart
   * @param {(chart: T) => void} set
   */
  shown(id, name, chart, set) {
    const host = byId(id);
    host.hidden = chart === null;
    const said = host.nextElementSibling?.classList.contains("absent") ? host.nextElementSibling : null;
    said?.remove();
    if (chart === null) host.after(absent(name));
    else set(chart);
  }

  /** @param {string} lead @param {string} rest @param {PageState} state */
  headline(lead, rest, state) {
    this.part("headline", [lead, rest, state.title], () => {
      byId("headline").replaceChildren(el("b", {}, lead), ` ${rest}`);
      document.title = `${lead.replace(/[;.:]$/, "")} · ${state.title}`;
    });
  }

  /** @param {PageState} state */
  recolour(state) {
    this.hero.retheme();
    this.drawn.delete("router");
    this.draw(state);
  }
}

/** The curve and the verdict are two eval sets: say so where both are on the page. @param {PageState} state */
function heroNote(state) {
  const [curve, end] = [state.hero?.evals ? evalSet(state.hero.metric) : "", evalSet(state.ladder?.metric ?? "")];
  const [measured, foretold] = [state.ladder?.measured ?? null, state.ladder?.forecast?.p50 ?? null];
  const note = byId("hero-note");
  note.hidden = (measured === null && foretold === null) || !curve || !end || curve === end;
  note.textContent = note.hidden ? "" : `The curve is the ${curve}, scored along the way; the verdict is the ${end}, scored once at the end: ${[...(measured === null ? [] : [`measured ${loss(measured)}`]), ...(foretold === null ? [] : [`foretold ${loss(foretold)}`])].join(", ")}.`;
}

/** @param {PageState} state */
function foot(state) {
  const campaign = state.fingerprint ? `Campaign fingerprint ${state.fingerprint.slice(0, 16)}. ` : "";
  const sealed = state.hero?.band ? `Forecast SHA-256 ${state.hero.band.sha256.slice(0, 16)}. ` : "";
  byId("foot-words").textContent = "Every figure on this page is in the record or follows from it. Losses are nats per token; FLOPs are without the head.";
  byId("foot-record").replaceChildren(`${campaign}${sealed}The record's own files: `, el("a", { href: "record/manifest.json" }, "their list"), "; ", el("b", {}, "fanal verify"), " checks them.");
}
