/**
 * Counts the calls of tools that are seen in an answer, each of which may be seen several times. Memory is bounded: no honest
 * answer makes more calls than are told apart here.
 */
import { Searches } from './searches.ts'
import type { UsedTool } from './words/server-tools.ts'

const MOST_STEMS = 64

interface Tool {
  /** Something tells that it was called, and not how often. */
  isEvident: boolean
  readonly calls: Searches
  readonly containers: Searches
}

export class Calls {
  readonly #tools = new Map<string, Tool>()
  #used: readonly UsedTool[] | null = null

  /**
   * `key`: null = it was called, and nobody says how often. `counts` false: an error came of it. `container`: in which it ran;
   * null = it is not told.
   */
  note(stem: string, key: string | null, counts: boolean, container: string | null): void {
    let tool = this.#tools.get(stem)
    if (tool === undefined) {
      if (this.#tools.size === MOST_STEMS) return
      this.#tools.set(stem, (tool = { isEvident: false, calls: new Searches(), containers: new Searches() }))
    }
    if (key === null) tool.isEvident = true
    else tool.calls.note(key, counts)
    if (container !== null) tool.containers.note(container, true)
    this.#used = null
  }

  get used(): readonly UsedTool[] {
    this.#used ??= [...this.#tools].map(([stem, tool]) => {
      const calls = Math.max(tool.calls.count, tool.isEvident ? 1 : 0)
      // a container was made for the call, also where nothing tells which, and where the call failed in it
      return { stem, calls, containers: Math.max(tool.containers.count, Math.min(1, calls)) }
    })
    return this.#used
  }
}
