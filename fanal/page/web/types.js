// The page's data, as `docs/page.md` describes it; types only.

/** @typedef {{ progress: number, step: number, kind: string, count: number }} Mark */
/** @typedef {{ progress: number[], step: number[], value: (number | null)[], marks: Mark[] }} Points */
/** @typedef {{ bucket_steps: number, rows: number, progress: number[], low: (number | null)[], mean: (number | null)[], high: (number | null)[], marks: Mark[] }} Envelope */
/** @typedef {{ p10: number, p50: number, p90: number }} Quantiles */
/** @typedef {{ sha256: string, sealed_ns: string, before_step_0: boolean, progress: number[], p10: number[], p50: number[], p90: number[], end: Quantiles, end_full: Quantiles | null }} Band */
/** @typedef {{ run: string, points: Points }} Ghost */
/** @typedef {{ progress: number, measured: number, difference: number, inside: boolean }} Difference */
/** @typedef {{ label: string, first: number, last: number }} Stretch */
/** @typedef {{ progress: number, step: number, words: string }} Moment */
/** @typedef {{ run: string, metric: string, title: string, unit: string, num_steps: number, tokens: number | null, step: number, now: number | null, evals: Points | null, train: Envelope | null, band: Band | null, ghosts: Ghost[], differences: Difference[], phases: Stretch[], skips: Moment[], restarts: Moment[], low: number, high: number }} HeroChart */
/** @typedef {{ size: string, flops: number, loss: number, seeds: number[] }} LadderPoint */
/** @typedef {{ metric: string, unit: string, points: LadderPoint[], planned: number, hero_flops: number | null, asymptote: number, path: { flops: number[], p10: number[], p50: number[], p90: number[] } | null, forecast: Quantiles | null, measured: number | null, others: { name: string, value: number }[] }} LadderChart */
/** @typedef {{ domain: string, points: Points | null, ghosts: Ghost[] }} DomainPanel */
/** @typedef {{ run: string, eval_set: string, unit: string, low: number, high: number, panels: DomainPanel[] }} DomainsChart */
/** @typedef {{ name: string, licence: string, origin: string, documents: number, bytes: number, tokens: number, bytes_per_token: number }} CorpusRow */
/** @typedef {{ stage: string, phase: string, seconds: number | null, documents_in: number | null, documents_out: number | null, bytes_in: number | null, bytes_out: number | null, removed: Record<string, number>, alarms: string[] }} DataStage */
/** @typedef {{ planned_frac: number, planned_tokens: number | null, consumed_tokens: number | null }} PhaseShare */
/** @typedef {{ domain: string, phases: PhaseShare[], epochs: number | null }} MixtureRow */
/** @typedef {{ label: string, first: number, last: number, phase: string }} MixturePhase */
/** @typedef {{ run: string, phases: MixturePhase[], rows: MixtureRow[] }} MixtureChart */
/** @typedef {{ unit: string, low: number, high: number, cells: (number | null)[][] }} HeatMap */
/** @typedef {{ layer: number, num_experts: number, load: HeatMap | null, bias: HeatMap | null, entropy: Envelope | null, even_entropy: number, dropped: Envelope | null }} RouterLayer */
/** @typedef {{ run: string, column_steps: number, num_columns: number, num_steps: number, layers: RouterLayer[] }} RouterChart */
/** @typedef {{ run: string, size: string, role: string, seed: number, phase: string, step: number, num_steps: number | null, frac: number | null, tokens: number | null, params_active: number | null, params_total: number | null, flops: number | null, loss: number | null, loss_metric: string | null, attempts: number, skipped: number, seconds: number, seconds_left: number | null, pace_seconds: number | null, last_ns: string | null }} RunRow */
/** @typedef {{ label: string, phase: string, first: number, last: number, done: number, seconds: number | null }} RailPart */
/** @typedef {{ stage: string, phase: string, started_ns: string, seconds: number | null, cpu_seconds: number | null }} StageRow */
/** @typedef {{ phase: string, reason: string | null, stages: StageRow[], runs: RunRow[], rail: RailPart[], rail_scale: string, started_ns: string | null, last_ns: string | null, seconds_left: number | null, current_stage: string | null, current_run: string | null, pace_seconds: number | null }} Progress */
/** @typedef {{ lead: string, rest: string, silent_lead: string, silent_rest: string, silent_after_seconds: number | null }} Headline */
/** @typedef {{ time_ns: string, run: string, step: number | null, kind: string, title: string, detail: string }} Happening */
/** @typedef {{ prompt: string, rows: { run: string, step: number, text: string }[], left_out: number }} PromptSamples */
/** @typedef {{ name: string, values: string[], formula: string, source: string, status: string, why: string }} SettingRow */
/**
 * @typedef {object} PageState
 * @property {string} title
 * @property {string | null} question
 * @property {string | null} fingerprint
 * @property {Headline} headline
 * @property {{ word: string, facts: string[] }} status
 * @property {Progress} progress
 * @property {{ mark: string, name: string, words: string }[]} health
 * @property {HeroChart | null} hero
 * @property {{ name: string, promised: string | null, now: string | null, note: string }[]} promises
 * @property {LadderChart | null} ladder
 * @property {DomainsChart | null} domains
 * @property {CorpusRow[]} corpus
 * @property {DataStage[]} data_stages
 * @property {MixtureChart | null} mixture
 * @property {RouterChart | null} router
 * @property {{ happenings: Happening[], left_out: number }} timeline
 * @property {PromptSamples[]} samples
 * @property {{ sizes: string[], rows: SettingRow[] } | null} settings
 */

export {};
