/** The table of targets, as ratios within one run wherever that is possible. */
import type { Figure } from './figures.ts'
import type { Results } from './results.ts'
import { median } from './statistics.ts'

export const GATEWAY = 'gateway'
/** The subject for comparison: the bare relay, or for refusals the bare refusal. */
export const BARE = 'bare'
export const NGINX = 'nginx'
/** The same gateway, to clients who speak the upstream's protocol. */
export const NATIVE = 'native lane'

/** A Node that runs nothing. */
export const EMPTY = 'node -e 0'

export interface Target {
  workload: string
  figure: Figure
  /** `times`: the ratio to the figure of `than`; `more`: the difference from it; `value`: the figure itself. */
  kind: 'times' | 'more' | 'value'
  than?: string
  most: number
  /** A tail: it is judged only where what it is compared with differs between the rounds by less than half of what is allowed. */
  isTail?: boolean
}

export const TARGETS: readonly Target[] = [
  { workload: 'small JSON', figure: 'cpuUs', kind: 'times', than: BARE, most: 1.5 },
  { workload: 'small JSON', figure: 'mainThreadUs', kind: 'times', than: BARE, most: 1.3 },
  { workload: 'small JSON', figure: 'storeThreadUs', kind: 'value', most: 10 },
  { workload: 'small JSON', figure: 'allocatedKiB', kind: 'times', than: BARE, most: 1.4 },
  ...(
    [
      ['small JSON at 500/s', 0.5],
      ['small JSON at 2,000/s', 2],
    ] as const
  ).flatMap(([workload, p99Ms]): Target[] => [
    { workload, figure: 'openP50Ms', kind: 'more', than: BARE, most: 0.1, isTail: true },
    { workload, figure: 'openP99Ms', kind: 'more', than: BARE, most: p99Ms, isTail: true },
    { workload, figure: 'openP999Ms', kind: 'times', than: BARE, most: 2, isTail: true },
  ]),
  { workload: 'burst stream', figure: 'cpuUs', kind: 'times', than: BARE, most: 1.1 },
  { workload: '200 paced streams', figure: 'cpuUs', kind: 'times', than: BARE, most: 0.75 },
  { workload: '64 paced streams', figure: 'cpuUs', kind: 'times', than: BARE, most: 0.85 },
  { workload: '16 paced streams', figure: 'cpuUs', kind: 'times', than: BARE, most: 0.95 },
  { workload: '200 KB body', figure: 'cpuUs', kind: 'times', than: BARE, most: 1.1 },
  { workload: '20 MB body', figure: 'cpuUs', kind: 'times', than: BARE, most: 1.15 },
  { workload: '20 MB body', figure: 'allocatedKiB', kind: 'value', most: 1024 },
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
  { workload: 'idle streams', figure: 'idleCpuMs', kind: 'value', most: 2 },
  { workload: 'idle streams', figure: 'silentCpuMs', kind: 'value', most: 10 },
  { workload: '401 flood, new keys', figure: 'cpuUs', kind: 'times', than: BARE, most: 2 },
  { workload: '401 flood', figure: 'cpuUs', kind: 'times', than: BARE, most: 2 },
  { workload: '401 flood', figure: 'lookUps', kind: 'value', most: 0 },
  { workload: '200 requests/s', figure: 'statements', kind: 'value', most: 0.032 },
  { workload: 'settling, MariaDB', figure: 'settlingUs', kind: 'value', most: 15 },
  { workload: 'start', figure: 'startMs', kind: 'times', than: EMPTY, most: 2.5 },
  { workload: 'start', figure: 'idleMiB', kind: 'times', than: BARE, most: 1.3 },
]

export interface Verdict {
  target: Target
  /** The ratio, difference or value, by the kind of the target. */
  reached: number
  says: 'ok' | 'missed' | 'not measured'
}

/** The verdicts on those targets whose figures were measured. */
export const verdicts = (results: Results, targets: readonly Target[] = TARGETS): Verdict[] =>
  targets.flatMap(target => {
    const reached = measure(results, target)
    if (reached === null) return []
    const says = isTooWide(results, target) ? 'not measured' : reached <= target.most ? 'ok' : 'missed'
    return [{ target, reached, says }]
  })

/** True for a tail of which the machine alone makes too much: that of the other subject differs between its own rounds. */
function isTooWide(results: Results, { workload, figure, kind, than, most, isTail = false }: Target): boolean {
  if (!isTail) return false
  const rounds = results.rounds(workload, than as string, figure)
  if (rounds.length < 2) return true
  const spread = Math.max(...rounds) - Math.min(...rounds)
  return kind === 'more' ? spread > most / 2 : spread / median(rounds) > (most - 1) / 2
}

function measure(results: Results, { workload, figure, kind, than }: Target): number | null {
  if (kind === 'value') return results.median(workload, GATEWAY, figure)
  const compare = kind === 'times' ? (a: number, b: number) => a / b : (a: number, b: number) => a - b
  return results.compared(workload, figure, [GATEWAY, than as string], compare)
}
