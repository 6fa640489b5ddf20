/** The table of targets, as ratios within one run wherever that is possible. */
import type { Figure } from './figures.ts'
import type { Results } from './results.ts'

export const GATEWAY = 'gateway'
/** The subject for comparison: the bare relay, or for refusals the bare refusal. */
export const BARE = 'bare'
export const NGINX = 'nginx'
/** The same gateway, to clients who speak the upstream's protocol. */
export const NATIVE = 'native lane'

export interface Target {
  workload: string
  figure: Figure
  /** `times`: the ratio to the figure of `than`; `more`: the difference from it; `value`: the figure itself. */
  kind: 'times' | 'more' | 'value'
  than?: string
  most: number
}

export const TARGETS: readonly Target[] = [
  { workload: 'small JSON', figure: 'cpuUs', kind: 'times', than: BARE, most: 1.25 },
  { workload: 'small JSON', figure: 'openP50Ms', kind: 'more', than: BARE, most: 0.1 },
  { workload: 'small JSON', figure: 'openP99Ms', kind: 'more', than: BARE, most: 0.5 },
  { workload: 'burst stream', figure: 'cpuUs', kind: 'times', than: BARE, most: 1.05 },
  { workload: 'paced stream', figure: 'cpuUs', kind: 'times', than: BARE, most: 0.95 },
  { workload: 'paced stream', figure: 'cpuUs', kind: 'times', than: NGINX, most: 1.8 },
  { workload: '20 MB body', figure: 'cpuUs', kind: 'times', than: BARE, most: 1.15 },
  { workload: '20 MB body', figure: 'stallMs', kind: 'value', most: 10 },
  { workload: 'burst stream, messages by chat', figure: 'cpuUs', kind: 'times', than: NATIVE, most: 2 },
  { workload: 'burst stream, chat by messages', figure: 'cpuUs', kind: 'times', than: NATIVE, most: 2 },
  { workload: 'paced stream, messages by chat', figure: 'cpuUs', kind: 'times', than: NATIVE, most: 2 },
  { workload: 'paced stream, chat by messages', figure: 'cpuUs', kind: 'times', than: NATIVE, most: 2 },
  { workload: '2 MB body, messages by chat', figure: 'stallCpuMs', kind: 'value', most: 10 },
  { workload: '2 MB body, chat by messages', figure: 'stallCpuMs', kind: 'value', most: 10 },
  { workload: '20 MB answer, messages by chat', figure: 'stallCpuMs', kind: 'value', most: 20 },
  { workload: '20 MB answer, chat by messages', figure: 'stallCpuMs', kind: 'value', most: 20 },
  { workload: 'idle streams', figure: 'streamKiB', kind: 'times', than: BARE, most: 1.2 },
  { workload: '401 flood', figure: 'cpuUs', kind: 'times', than: BARE, most: 2 },
  { workload: '401 flood', figure: 'lookUps', kind: 'value', most: 0 },
  { workload: '200 requests/s', figure: 'statements', kind: 'value', most: 0.032 },
  { workload: 'start', figure: 'startMs', kind: 'value', most: 400 },
]

export interface Verdict {
  target: Target
  /** The ratio, difference or value, by the kind of the target. */
  reached: number
  ok: boolean
}

/** The verdicts on those targets whose figures were measured. */
export const verdicts = (results: Results, targets: readonly Target[] = TARGETS): Verdict[] =>
  targets.flatMap(target => {
    const reached = measure(results, target)
    return reached === null ? [] : [{ target, reached, ok: reached <= target.most }]
  })

function measure(results: Results, { workload, figure, kind, than }: Target): number | null {
  if (kind === 'value') return results.median(workload, GATEWAY, figure)
  const compare = kind === 'times' ? (a: number, b: number) => a / b : (a: number, b: number) => a - b
  return results.compared(workload, figure, [GATEWAY, than as string], compare)
}
