/**
 * The files that pages load: a fixed list, found by following the imports from the pages on, and joined into few (`join.ts`). Nothing
 * else of the disk can be asked for. Every address carries one hash over all of their contents, so a browser may keep them for ever, and
 * one page never mixes files of two versions. The types of a module are stripped, and a file is joined and compressed, when it is asked
 * for the first time: one module in a turn, so that requests of the API hardly wait, and nothing at start.
 */
import { createHash } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { createRequire, stripTypeScriptTypes } from 'node:module'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { setImmediate as turn } from 'node:timers/promises'
import { encodedHeaders, KeptBody } from '../base/encoding.ts'
import { PAGES } from '../../web/shared/sitemap.ts'
import { scriptOf, type Imported, type FilePlan, joinedText, type Module, planOf } from './join.ts'

export const CLIENT = fileURLToPath(new URL('../../web/', import.meta.url))

/** What starts every page. */
const ENTRY = 'boot.ts'
export const STYLE = 'style.css'
export const UNSCRIPTED = 'unscripted.css'
export const ICON = 'icon.svg'
/** Beside the style sheet of every page: what some pages or readers need. */
const OTHERS = [UNSCRIPTED, 'charts.css', ICON]
/** The parts of the style sheet, in their order. */
const STYLES = ['tokens', 'elements', 'layout', 'parts']

/** Packages that pages may import: the file that a browser gets, and its name in an address. */
const PACKAGES: Record<string, { file: string; name: string }> = {
  preact: { file: 'preact/dist/preact.mjs', name: 'preact.js' },
  'preact/hooks': { file: 'preact/hooks/dist/hooks.mjs', name: 'hooks.js' },
  '@preact/signals': { file: '@preact/signals/dist/signals.module.js', name: 'signals.js' },
  '@preact/signals-core': { file: '@preact/signals-core/dist/signals-core.module.js', name: 'signals-core.js' },
  uqr: { file: 'uqr/dist/index.mjs', name: 'uqr.js' },
}

/** A module stands in the file that every page loads when so many pages use it. */
const MANY = 6

type Kind = 'script' | 'style' | 'picture'

interface ClientFile {
  kind: Kind
  /** What a browser gets. */
  text(): Promise<string>
}

export interface ClientFiles {
  hash: string
  /** By what follows `/console/a/HASH/`. */
  files: Map<string, ClientFile>
  /** What a page loads before it can start: the file of all pages, then its own. */
  scriptsOf(page: string): [string, string]
  addressOf(name: string): string
  /** Whether somebody has changed a file since. */
  isOld(): Promise<boolean>
}

/** A module as it stands on the disk. */
interface Source {
  file: string
  text: string
  imports: Imported[]
  /** True of a package that is served as it is, because nothing imports it but when it is needed. */
  isAlone: boolean
}

export async function readClientFiles(): Promise<ClientFiles> {
  const sources = new Map<string, Source>()
  const pages = PAGES.map(page => `pages/${page.name}.ts`)
  for (const name of [ENTRY, ...pages]) await follow(name, sources)
  const styles = new Map<string, string>()
  const style = (part: string) => readFile(path.join(CLIENT, 'style', part), 'utf8')
  const css = await Promise.all(STYLES.map(part => style(`${part}.css`)))
  styles.set(STYLE, css.join('').replace(/\/\*.*?\*\/|^ +|(?<=[{;},])\n/gms, ''))
  for (const name of OTHERS) styles.set(name, await style(name))
  const hash = hashOf([...[...sources].map(([name, { text }]) => [name, text] as const), ...styles])
  const addressOf = (name: string) => `/console/a/${hash}/${name}`
  const files = scripts(sources, planOf(sources, ENTRY, pages, MANY), addressOf)
  for (const [name, text] of styles)
    files.set(name, { kind: name === ICON ? 'picture' : 'style', text: async () => text })
  const read = [...sources.values()].map(({ file }) => file)
  const changes = changesOf([
    ...read,
    ...[...STYLES.map(part => `${part}.css`), ...OTHERS].map(name => path.join(CLIENT, 'style', name)),
  ])
  const before = await changes()
  return {
    hash,
    files,
    scriptsOf: page => [addressOf(scriptOf(ENTRY)), addressOf(`pages/${page}.js`)],
    addressOf,
    isOld: async () => (await changes()) !== before,
  }
}

/** When files were changed, as one text. */
const changesOf = (files: string[]) => async (): Promise<string> =>
  (await Promise.all(files.map(file => stat(file).catch(() => null)))).map(found => found?.mtimeMs ?? 0).join(' ')

function scripts(
  sources: ReadonlyMap<string, Source>,
  plan: FilePlan,
  addressOf: (name: string) => string,
): Map<string, ClientFile> {
  const ready = new Map<string, Module>()
  for (const [name, { imports }] of sources) ready.set(name, { code: '', imports })
  const join = async (file: string): Promise<string> => {
    const root = [...sources].find(([name]) => scriptOf(name) === file)?.[1]
    if (root?.isAlone === true) return root.text
    for (const name of plan.files.get(file) as string[]) {
      const { text, imports } = sources.get(name) as Source
      if (ready.get(name)?.code === '') ready.set(name, { code: runnable(name, text), imports })
      await turn()
    }
    return joinedText(file, plan, ready, addressOf)
  }
  return new Map([...plan.files.keys()].map(file => [file, { kind: 'script', text: () => join(file) }]))
}

/** What a browser can run of a module. */
export const runnable = (name: string, text: string): string =>
  name.endsWith('.ts') ? stripTypeScriptTypes(text, { mode: 'strip' }) : text

async function follow(name: string, sources: Map<string, Source>): Promise<void> {
  if (sources.has(name)) return
  const file = path.join(CLIENT, name)
  const text = await readFile(file, 'utf8')
  const imports = importsOf(text).map(found => ({ ...found, at: resolve(name, found.specifier) }))
  sources.set(name, { file, text, imports, isAlone: false })
  for (const { at, specifier, late } of imports) {
    if (specifier.startsWith('.')) await follow(at, sources)
    else await readPackage(specifier, late, sources)
  }
}

async function readPackage(bare: string, isAlone: boolean, sources: Map<string, Source>): Promise<void> {
  const { file: inPackage, name } = packageOf(bare)
  const at = `lib/${name}`
  if (sources.has(at)) return
  // the root of a package is found from its package.json, because not every file of it can be imported by name
  const scope = bare
    .split('/')
    .slice(0, bare.startsWith('@') ? 2 : 1)
    .join('/')
  const file = path.join(folderOf(scope), inPackage.slice(scope.length + 1))
  const raw = await readFile(file, 'utf8')
  const text = raw.replace(/\n?\/\/# sourceMappingURL=.*\s*$/, '\n')
  const imports = isAlone
    ? []
    : importsOf(text).map(found => ({ ...found, at: `lib/${packageOf(found.specifier).name}` }))
  sources.set(at, { file, text, imports, isAlone })
  for (const { specifier } of imports) await readPackage(specifier, false, sources)
}

function folderOf(scope: string): string {
  const paths = createRequire(import.meta.url).resolve.paths(scope) ?? []
  const require = createRequire(import.meta.url)
  const entry = require.resolve(scope, { paths })
  const mark = `${path.sep}node_modules${path.sep}${scope.split('/').join(path.sep)}${path.sep}`
  const at = entry.lastIndexOf(mark)
  if (at < 0) throw new Error(`the package ${scope} is not where packages stand`)
  return entry.slice(0, at + mark.length)
}

function packageOf(bare: string): { file: string; name: string } {
  const found = PACKAGES[bare]
  if (found === undefined) throw new Error(`pages may not import ${bare}`)
  return found
}

/** Files of the client folder only: an import that leads out of it is a fault of ours. */
function resolve(from: string, specifier: string): string {
  if (!specifier.startsWith('.')) return `lib/${packageOf(specifier).name}`
  const at = path.posix.join(path.posix.dirname(from), specifier)
  if (at.startsWith('..')) throw new Error(`${from} imports ${specifier}, which is not for browsers`)
  return at
}

/**
 * The imports that a browser makes. `import type` leaves nothing behind; `late`: loaded when it is needed, by
 * `import('…')`. Imports by a computed name are of pages, which are in the list anyway.
 */
export function importsOf(text: string): { specifier: string; late: boolean }[] {
  const code = text.replaceAll(/^(import|export) type [^;]*?from\s*'[^']+'/gm, '')
  const early = [...code.matchAll(/(?:^|[;}\s])(?:import|export)\s*(?:[\w$*{][^'"()]*?from\s*)?["']([^"']+)["']/gm)]
  const late = [...code.matchAll(/\bimport\(\s*'([^']+)'\s*\)/g)]
  return [
    ...early.map(found => ({ specifier: found[1] as string, late: false })),
    ...late.map(found => ({ specifier: found[1] as string, late: true })),
  ]
}

function hashOf(texts: readonly (readonly [name: string, text: string])[]): string {
  // the version of Node stands in it, because Node makes what is served from what is hashed
  const hash = createHash('sha256').update(process.version)
  for (const [name, text] of [...texts].sort(([a], [b]) => (a < b ? -1 : 1))) hash.update(`\n${name}\n${text}`)
  return hash.digest('hex').slice(0, 16)
}

const TYPES: Record<Kind, string> = {
  script: 'text/javascript; charset=utf-8',
  style: 'text/css; charset=utf-8',
  picture: 'image/svg+xml',
}

export class Assets {
  readonly #client: ClientFiles
  readonly #ready = new Map<string, Promise<KeptBody>>()

  constructor(client: ClientFiles) {
    this.#client = client
  }

  /** `name`: what follows `/console/a/`. Answers and returns true; false = there is no such file. */
  async answer(name: string, req: IncomingMessage, res: ServerResponse): Promise<boolean> {
    const { hash, files } = this.#client
    const file = name.startsWith(`${hash}/`) ? files.get(name.slice(hash.length + 1)) : undefined
    if (file === undefined) return false
    const tag = `"${hash}"`
    const headers: OutgoingHttpHeaders = { ...assetHeaders(TYPES[file.kind]), etag: tag }
    if (req.headers['if-none-match'] === tag) {
      res.writeHead(304, headers).end()
      return true
    }
    const made = await (await this.#body(name, file)).in(req.headers['accept-encoding'])
    res.writeHead(200, { ...headers, ...encodedHeaders(made) })
    res.end(req.method === 'HEAD' ? undefined : made.body)
    return true
  }

  #body(name: string, file: ClientFile): Promise<KeptBody> {
    let ready = this.#ready.get(name)
    if (ready === undefined) this.#ready.set(name, (ready = file.text().then(text => new KeptBody(text, 'kept'))))
    return ready
  }
}

export const assetHeaders = (type: string): OutgoingHttpHeaders => ({
  'content-type': type,
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'cache-control': 'public, max-age=31536000, immutable',
  vary: 'accept-encoding',
})
