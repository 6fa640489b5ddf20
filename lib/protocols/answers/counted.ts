/**
 * What the meters of streams and of documents have in common: both have the report of the upstream, a count of the content, and the
 * pictures, searches and calls of tools that are seen in the answer, and derive from these what the answer used.
 */
import { hash } from 'node:crypto'
import type { Patterns } from '../json/patterns.ts'
import type { PictureCounter } from '../pictures/counter.ts'
import type { Pass, Report } from '../words/reports.ts'
import type { UsedTool } from '../words/server-tools.ts'
import { type CountedKind, outputOf, type Usage } from '../words/usage.ts'
import { ContentCounter, type ContentKeys } from './content.ts'

const NO_TOOLS: readonly UsedTool[] = []
const NO_KINDS: readonly CountedKind[] = []
const NO_PASSES: readonly Pass[] = []

export abstract class CountedAnswer {
  readonly #keys: ContentKeys
  readonly #markers: Patterns | null
  /** null until something is counted, because most short documents report all that is asked of them. */
  #counter: ContentCounter | null = null
  /** Counts pictures that are charged by the piece; null = they are not, or the protocol reports their number. */
  protected readonly pictures: PictureCounter | null
  /** True when pictures are charged by the piece, so that their tokens are not. */
  readonly #byPiece: boolean
  /** null until one is seen, because most answers have none, and there are many. */
  #searches: SeenUses | null = null
  #calls: SeenCalls | null = null

  /** `markers`: an event without these patterns is content alone; null = there are no such events. */
  constructor(keys: ContentKeys, pictures: PictureCounter | null, byPiece: boolean, markers: Patterns | null = null) {
    this.#keys = keys
    this.#markers = markers
    this.pictures = pictures
    this.#byPiece = byPiece
  }

  protected get counter(): ContentCounter {
    this.#counter ??= new ContentCounter(this.#keys, this.#markers)
    return this.#counter
  }

  /** How many strings of base64 have begun. */
  protected get pieces(): number {
    return this.#counter?.pieces ?? 0
  }

  protected abstract readonly reported: Report | null

  get usage(): Usage | null {
    const { reported, images, searches } = this
    if (reported === null) return null
    const { usage } = reported
    return images === usage.images && searches === usage.searches ? usage : { ...usage, images, searches }
  }

  get images(): number {
    return this.pictures?.count ?? this.reported?.usage.images ?? 0
  }

  get onlyContent(): boolean {
    return this.#searches === null && this.#calls === null && this.pictures === null && this.reported === null
  }

  get pictureKinds(): readonly CountedKind[] {
    return this.pictures?.kinds ?? this.reported?.kinds ?? NO_KINDS
  }

  get searches(): number {
    return Math.max(this.reported?.usage.searches ?? 0, this.#searches?.count ?? 0)
  }

  get seenImages(): number {
    return this.pictures?.count ?? this.reported?.seenImages ?? 0
  }

  get seenSearches(): number {
    return this.#searches?.count ?? 0
  }

  /** Notes a search that is seen in the answer. `counts` false: the call proved to be no search. */
  search(key: string, counts = true): void {
    this.#searches ??= new SeenUses()
    this.#searches.note(key, counts)
  }

  /** Notes a call of another tool. `counts` false: an error came of it. `container`: in which it ran. */
  call(stem: string, key: string | null, counts = true, container: string | null = null): void {
    this.#calls ??= new SeenCalls()
    this.#calls.note(stem, key, counts, container)
  }

  get tools(): readonly UsedTool[] {
    return this.#calls?.used ?? NO_TOOLS
  }

  get units(): number {
    return 0
  }

  get seconds(): number {
    return this.reported?.usage.seconds ?? 0
  }

  get secondsReported(): boolean {
    return this.seconds > 0
  }

  get passes(): readonly Pass[] {
    return this.reported?.passes ?? NO_PASSES
  }

  get thinks(): boolean {
    return this.#counter?.thinks || (this.reported?.thinks ?? false)
  }

  get counted(): number {
    return this.#counter?.tokens() ?? 0
  }

  get produced(): number {
    const { counted, pictures } = this
    const beside = pictures === null ? counted : Math.min(counted, this.counter.tokens(pictures.characters))
    return this.reported === null ? beside : Math.max(beside, this.reportedOutput)
  }

  get reportedOutput(): number {
    const { usage } = this
    if (usage === null) return 0
    return outputOf(usage) - (this.#byPiece && usage.images > 0 ? usage.output_image : 0)
  }

  get namesInput(): boolean {
    return this.reported?.namesInput ?? true
  }

  /** True when the upstream reported its output, also when it reported 0: what is reported is what is charged. */
  protected get namesOutput(): boolean {
    return this.reported?.namesOutput ?? false
  }
}

/** No honest answer makes more uses of a tool than are told apart. */
const MOST_USES = 1000
/** A key that is longer is kept as its hash. */
const LONGEST_KEY = 64

/** Counts uses of a tool that are seen in an answer. Each has a key, such as its id, under which it may be seen several times. */
class SeenUses {
  /** Tells by its key whether a use counts. */
  readonly #seen = new Map<string, boolean>()
  count = 0

  /** `counts` false: the call proved to be no such use, whatever it looked like before. */
  note(key: string, counts: boolean): void {
    const short = key.length > LONGEST_KEY ? hash('sha256', key) : key
    const before = this.#seen.get(short)
    if (before === false || before === counts || (before === undefined && this.#seen.size === MOST_USES)) return
    this.#seen.set(short, counts)
    if (counts) this.count++
    else if (before) this.count--
  }
}

const MOST_STEMS = 64

interface SeenTool {
  /** Something tells that it was called, and not how often. */
  isEvident: boolean
  readonly calls: SeenUses
  readonly containers: SeenUses
}

/** Counts the calls of tools that are seen in an answer. Memory is bounded: no honest answer uses more tools than are told apart. */
class SeenCalls {
  readonly #tools = new Map<string, SeenTool>()
  #used: readonly UsedTool[] | null = null

  /** `key`: null = it was called, and nobody says how often. `container`: null = it is not told. */
  note(stem: string, key: string | null, counts: boolean, container: string | null): void {
    let tool = this.#tools.get(stem)
    if (tool === undefined) {
      if (this.#tools.size === MOST_STEMS) return
      this.#tools.set(stem, (tool = { isEvident: false, calls: new SeenUses(), containers: new SeenUses() }))
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
