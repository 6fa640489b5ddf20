/**
 * Finds the row that a method and a path mean. A step `{name}` of a pattern takes any text that is not empty; it is
 * decoded by itself, so a name may contain a slash. All other steps must be written as they stand in the pattern: a rule
 * of a proxy in front that names a path then means the same paths as we do.
 */
export interface Found<T> {
  row: T
  /** The decoded parameters, by name. */
  names: Record<string, string>
}

interface Route<T> {
  method: string
  steps: string[]
  row: T
}

export class Routes<T> {
  readonly #routes: Route<T>[] = []

  /** `call`: method and path, as in `GET /accounts/{account}`. */
  add(call: string, row: T): this {
    const [method, path] = call.split(' ') as [string, string]
    this.#routes.push({ method, steps: path.split('/'), row })
    return this
  }

  /** A list of methods = the path exists, with these methods only. */
  find(method: string, path: string): Found<T> | string[] | null {
    const steps = path.split('/')
    const asked = method === 'HEAD' ? 'GET' : method
    const others = new Set<string>()
    for (const route of this.#routes) {
      if (!fits(route.steps, steps)) continue
      if (route.method !== asked) others.add(route.method)
      else {
        const names = decode(route.steps, steps)
        return names === null ? null : { row: route.row, names }
      }
    }
    return others.size > 0 ? [...others] : null
  }
}

const isName = (step: string): boolean => step.startsWith('{')

const fits = (pattern: string[], steps: string[]): boolean =>
  pattern.length === steps.length && pattern.every((step, i) => (isName(step) ? steps[i] !== '' : step === steps[i]))

/** null when the encoding is broken. */
function decode(pattern: string[], steps: string[]): Record<string, string> | null {
  try {
    return Object.fromEntries(
      pattern.flatMap((step, i) => (isName(step) ? [[step.slice(1, -1), decodeURIComponent(steps[i] as string)]] : [])),
    )
  } catch {
    return null
  }
}
