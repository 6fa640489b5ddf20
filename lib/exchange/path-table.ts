/**
 * The paths that the protocols name for themselves, put together once when the process starts. Most paths are looked up as
 * they stand; those that name a model are matched one after the other.
 */
import type { ClientPath } from '../protocols/protocol.ts'
import { FORMS, type Protocol, protocolOf, protocolRow } from '../protocols/table.ts'
import type { Endpoint, Target } from '../terms/target.ts'

export const plainTarget = (endpoint: Endpoint): Target => ({ endpoint, model: null, rawModel: '', verb: '' })

/** Paths of one endpoint that name a model. The pattern finds the version, which may be missing, and the model. */
interface ModelPath {
  pattern: RegExp
  endpoint: Endpoint
  verb: string
}

/** Paths that are looked up as they stand. */
class PathTable {
  readonly whole = new Map<string, Target>()
  /** Without their version: they are answered for clients that sent a key. */
  readonly bare = new Map<string, Target>()
}

export const POSTS = new PathTable()
/** Paths on which a client may ask to become a WebSocket, by GET. */
export const UPGRADES = new PathTable()
export const MODEL_POSTS: ModelPath[] = []

const NAMES_MODEL = /^(.*)\{model\}:(\w+)$/

function learn(form: Protocol, { path, action, suffix, lastStep }: ClientPath): void {
  const { versions, repeatsVersion, placements, typesErrors } = protocolRow(form).client
  const protocol = protocolOf(form)
  const endpoint = { action, protocol, form, placements, suffix, lastStep, typesErrors, native: false }
  const [, before = '', verb] = NAMES_MODEL.exec(path) ?? []
  if (verb !== undefined) {
    const layers = [...versions, ''].map(RegExp.escape).join('|')
    MODEL_POSTS.push({ pattern: new RegExp(`^(${layers})${RegExp.escape(before)}(.+):${verb}$`), endpoint, verb })
    return
  }
  const target = plainTarget(endpoint)
  const table = action === 'upgrade' ? UPGRADES : POSTS
  table.bare.set(path, target)
  for (const version of versions) {
    table.whole.set(version + path, target)
    if (repeatsVersion) table.whole.set(version + version + path, target)
  }
}

for (const form of FORMS) for (const path of protocolRow(form).client.paths) learn(form, path)
