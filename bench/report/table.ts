/**
 * Prints the table of results: workloads and figures are rows, subjects are columns, and the last columns are the
 * targets.
 */
import { FIGURES, type Figure } from './figures.ts'
import type { Results } from './results.ts'
import { BARE, EMPTY, GATEWAY, NATIVE, NGINX, type Target, type Verdict, verdicts } from './targets.ts'

/** `against`: the name of another revision, which gets a column; a second column has the gateway's ratio to it. */
export function tableLines(results: Results, units: ReadonlyMap<string, string>, against: string | null): string[] {
  const measured = (name: string) =>
    results.workloads.some(w => results.figures(w).some(figure => results.rounds(w, name, figure).length > 0))
  const subjects = [BARE, EMPTY, NGINX, NATIVE, ...(against === null ? [] : [against]), GATEWAY].filter(measured)
  const ratios = [BARE, EMPTY, NATIVE, ...(against === null ? [] : [against])].filter(name => subjects.includes(name))
  const head = ['workload', 'figure', ...subjects, ...ratios.map(name => `÷ ${name}`), 'target', '']
  const reached = verdicts(results)
  const rows = results.workloads.flatMap(workload =>
    results.figures(workload).map(figure => {
      const here = reached.filter(({ target }) => target.workload === workload && target.figure === figure)
      return [
        workload,
        FIGURES[figure].label.replace('{unit}', units.get(workload) ?? 'request'),
        ...subjects.map(subject => shown(results.median(workload, subject, figure), figure)),
        ...ratios.map(floor => {
          const ratio = results.compared(workload, figure, [GATEWAY, floor], (value, of) => value / of)
          return ratio === null || !Number.isFinite(ratio) ? '' : ratio.toFixed(2)
        }),
        here.map(({ target }) => wanted(target)).join('; '),
        here.map(verdict).join('; '),
      ]
    }),
  )
  return [head, head.map(() => '---'), ...rows].map(cells => `| ${cells.join(' | ')} |`)
}

const shown = (value: number | null, figure: Figure): string =>
  value === null ? '' : value.toFixed(FIGURES[figure].digits)

function wanted({ kind, than, most }: Target): string {
  if (kind === 'times') return `≤ ${most} × ${than}`
  return kind === 'more' ? `≤ ${most} over ${than}` : `≤ ${most}`
}

/** The text of a verdict. It includes a difference, for which there is no column. */
function verdict({ target, reached, says }: Verdict): string {
  const digits = FIGURES[target.figure].digits
  const by = target.kind === 'value' ? '' : ` (${reached.toFixed(target.kind === 'times' ? 2 : digits)})`
  return `${says}${by}`
}
