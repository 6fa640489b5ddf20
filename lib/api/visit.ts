/**
 * One call, from the request to its answer, as every API makes it: the caller is let in, the row is found, its checks are
 * made, it runs, and its result or its refusal is told. Who the callers are, and how they are refused, is for the
 * subclasses: people in `person-visit.ts`, whoever has the token of operators in `token-visit.ts`.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Logger } from '../base/log.ts'
import { sendText } from './answer.ts'
import { methodOf, type Operation, pathOf } from './operation.ts'

interface RouteMatch<T> {
  row: T
  /** The decoded parameters, by name. */
  names: Record<string, string>
}

interface Route<T> {
  method: string
  steps: string[]
  row: T
}

/**
 * Finds the row that a method and a path mean. A step `{name}` of a pattern takes any text that is not empty; it is
 * decoded by itself, so a name may contain a slash. All other steps must be written as they stand in the pattern: a rule
 * of a proxy in front that names a path then means the same paths as we do. Where several rows fit, written steps win over
 * names from the left, so that no row hides another one.
 */
export class Routes<T> {
  readonly #routes: Route<T>[] = []

  /** `call`: method and path, as in `GET /accounts/{account}`. */
  add(call: string, row: T): this {
    const [method, path] = call.split(' ') as [string, string]
    const route = { method, steps: path.split('/'), row }
    const shape = shapeOf(route.steps)
    if (this.#routes.some(other => other.method === method && shapeOf(other.steps) === shape))
      throw new Error(`${call} is there already`)
    const behind = this.#routes.findIndex(other => shapeOf(other.steps) > shape)
    this.#routes.splice(behind < 0 ? this.#routes.length : behind, 0, route)
    return this
  }

  /** A list of methods = the path exists, with these methods only. */
  find(method: string, path: string): RouteMatch<T> | string[] | null {
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

/** A text that is equal for two patterns when they fit the same paths; written steps sort before names. */
const shapeOf = (steps: string[]): string => steps.map(step => (isName(step) ? '{}' : step)).join('/')

const fits = (pattern: string[], steps: string[]): boolean =>
  pattern.length === steps.length && pattern.every((step, i) => (isName(step) ? steps[i] !== '' : step === steps[i]))

/** In the form of Unicode in which names are kept; null when the encoding is broken. */
function decode(pattern: string[], steps: string[]): Record<string, string> | null {
  try {
    const text = (i: number): string => decodeURIComponent(steps[i] as string).normalize('NFC')
    return Object.fromEntries(pattern.flatMap((step, i) => (isName(step) ? [[step.slice(1, -1), text(i)]] : [])))
  } catch {
    return null
  }
}

/** `root`: the path below which all rows stand, without a slash at its end. */
export function routesOf<D>(root: string, rows: readonly Operation<D>[]): Routes<Operation<D>> {
  const routes = new Routes<Operation<D>>()
  for (const row of rows) routes.add(`${methodOf(row)} ${root}${pathOf(row)}`, row)
  return routes
}

/** A failure as the caller is told of it. */
export interface RefusalAnswer {
  status: number
  /** The body, as JSON. */
  text: string
  /** Whole seconds; null = nothing is said of another try. */
  retryAfterS: number | string | null
  /** The rest of the body is not read, so the connection ends with the answer. */
  closes: boolean
}

/** What the calls of every API share. */
export interface VisitParts<D> {
  deps: D
  log: Logger
  /** Makes request ids. */
  ids: () => string
  routes: Routes<Operation<D>>
}

export abstract class Visit<D, P extends VisitParts<D> = VisitParts<D>> {
  protected readonly parts: P
  protected readonly req: IncomingMessage
  protected readonly res: ServerResponse
  protected readonly id: string
  protected readonly method: string
  protected readonly path: string
  protected readonly query: string
  /** The row that the request means; null until it is found, and when there is none. */
  protected row: Operation<D> | null = null

  constructor(parts: P, req: IncomingMessage, res: ServerResponse) {
    this.parts = parts
    this.req = req
    this.res = res
    this.id = parts.ids()
    this.method = req.method as string
    const [path, ...query] = (req.url as string).split('?')
    this.path = path as string
    this.query = query.join('?')
  }

  /** Sets the headers of every answer. */
  protected abstract begin(): void
  /** Refuses, before a row is looked for, whoever may not even know which there are. */
  protected abstract enter(): void
  /** `others`: the methods with which the path exists; null = it does not exist. */
  protected abstract noSuchCall(others: string[] | null): Error
  /** Makes the checks of the row, runs it and answers. */
  protected abstract call(row: Operation<D>, names: Record<string, string>): Promise<void>
  /** Logs a call that may have changed something. */
  protected abstract noteChange(): void
  /** Logs a failure where the log should have it. null = the answer is under way, and nothing can be told any more. */
  protected abstract refuse(error: unknown): RefusalAnswer | null

  /** The order of the checks: whoever is refused by an early one learns nothing of what a later one would say. */
  async serve(): Promise<void> {
    this.res.on('error', () => {}) // a caller that left needs no answer
    this.begin()
    try {
      this.enter()
      const found = this.parts.routes.find(this.method, this.path)
      if (found === null || Array.isArray(found)) throw this.noSuchCall(found)
      this.row = found.row
      await this.call(found.row, found.names)
      if (found.row.effect !== 'read') this.noteChange()
    } catch (error) {
      this.#tell(this.refuse(error))
    }
  }

  #tell(refusal: RefusalAnswer | null): void {
    if (refusal === null) return
    const { status, text, retryAfterS, closes } = refusal
    const { res } = this
    if (retryAfterS !== null) res.setHeader('retry-after', retryAfterS)
    if (status === 401) res.setHeader('www-authenticate', 'Bearer')
    if (closes) res.shouldKeepAlive = false
    sendText(res, status, text)
  }
}
