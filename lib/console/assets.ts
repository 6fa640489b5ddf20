/**
 * The files that pages load: a fixed list, found by following the imports from the pages on. Nothing else of the disk can
 * be asked for. Every address carries one hash over all of their contents, so a browser may keep them for ever, and one
 * page never mixes files of two versions. The types of a file are stripped, and the file is compressed, when it is asked for the
 * first time: one file in a turn, so that requests of the API hardly wait, and nothing at start.
 */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { createRequire, stripTypeScriptTypes } from 'node:module'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { PAGES } from '../../web/shared/sitemap.ts'

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
  uplot: { file: 'uplot/dist/uPlot.esm.js', name: 'uplot.js' },
  uqr: { file: 'uqr/dist/index.mjs', name: 'uqr.js' },
}

export type Kind = 'typescript' | 'script' | 'style' | 'picture'

interface ClientFile {
  kind: Kind
  text: string
  /** Addresses of files that load together with this one. */
  imports: string[]
}

export interface ClientFiles {
  hash: string
  /** By what follows `/console/a/HASH/`. */
  files: Map<string, ClientFile>
  importMap: string
  /** What a page loads before it can start, the page's own module included. */
  preloadOf(page: string): string[]
  addressOf(name: string): string
}

export async function readClientFiles(): Promise<ClientFiles> {
  const files = new Map<string, ClientFile>()
  const wanted = [ENTRY, ...PAGES.map(page => `pages/${page.name}.ts`)]
  for (const name of wanted) await follow(name, files)
  const css = await Promise.all(STYLES.map(part => readFile(path.join(CLIENT, 'style', `${part}.css`), 'utf8')))
  files.set(STYLE, { kind: 'style', text: css.join(''), imports: [] })
  for (const name of OTHERS) {
    const text = await readFile(path.join(CLIENT, 'style', name), 'utf8')
    files.set(name, { kind: name === ICON ? 'picture' : 'style', text, imports: [] })
  }
  const hash = hashOf(files)
  const addressOf = (name: string) => `/console/a/${hash}/${name}`
  const imports = Object.entries(PACKAGES)
    .filter(([, { name }]) => files.has(`lib/${name}`))
    .map(([bare, { name }]) => [bare, addressOf(`lib/${name}`)])
  const importMap = JSON.stringify({ imports: Object.fromEntries(imports) })
  const preloadOf = (page: string) => [...closure([ENTRY, `pages/${page}.ts`], files)].map(addressOf)
  return { hash, files, importMap, preloadOf, addressOf }
}

async function follow(name: string, files: Map<string, ClientFile>): Promise<void> {
  if (files.has(name)) return
  const text = await readFile(path.join(CLIENT, name), 'utf8')
  const found = importsOf(text)
  const resolved = found.map(({ specifier, late }) => ({ at: resolve(name, specifier), specifier, late }))
  files.set(name, {
    kind: 'typescript',
    text,
    imports: resolved.filter(({ late }) => !late).map(({ at }) => at),
  })
  for (const { at, specifier } of resolved) {
    if (specifier.startsWith('.')) await follow(at, files)
    else await readPackage(specifier, files)
  }
}

async function readPackage(bare: string, files: Map<string, ClientFile>): Promise<void> {
  const { file, name } = packageOf(bare)
  if (files.has(`lib/${name}`)) return
  // the root of a package is found from its package.json, because not every file of it can be imported by name
  const scope = bare
    .split('/')
    .slice(0, bare.startsWith('@') ? 2 : 1)
    .join('/')
  const folder = folderOf(scope)
  const raw = await readFile(path.join(folder, file.slice(scope.length + 1)), 'utf8')
  const text = raw.replace(/\n?\/\/# sourceMappingURL=.*\s*$/, '\n')
  const found = importsOf(text).map(({ specifier }) => specifier)
  files.set(`lib/${name}`, { kind: 'script', text, imports: found.map(other => `lib/${packageOf(other).name}`) })
  for (const other of found) await readPackage(other, files)
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

function closure(from: string[], files: Map<string, ClientFile>): Set<string> {
  const found = new Set<string>()
  const visit = (name: string) => {
    if (found.has(name)) return
    found.add(name)
    for (const next of files.get(name)?.imports ?? []) visit(next)
  }
  for (const name of from) visit(name)
  return found
}

function hashOf(files: Map<string, ClientFile>): string {
  // the version of Node stands in it, because Node makes what is served from what is hashed
  const hash = createHash('sha256').update(process.version)
  for (const [name, { text }] of [...files].sort(([a], [b]) => (a < b ? -1 : 1))) hash.update(`\n${name}\n${text}`)
  return hash.digest('hex').slice(0, 16)
}

const TYPES: Record<Kind, string> = {
  typescript: 'text/javascript; charset=utf-8',
  script: 'text/javascript; charset=utf-8',
  style: 'text/css; charset=utf-8',
  picture: 'image/svg+xml',
}
/** Level of brotli: the last but one for which a file of this size takes only milliseconds. */
const BROTLI_LEVEL = 9

type Encoding = 'br' | 'gzip' | 'identity'
type Bodies = Record<Encoding, Buffer>

const brotliOf = promisify(brotliCompress)
const gzipOf = promisify(gzip)

/** What a browser gets of a file. */
export const served = ({ kind, text }: ClientFile): string =>
  kind === 'typescript' ? stripTypeScriptTypes(text, { mode: 'strip' }) : text

async function bodiesOf(file: ClientFile): Promise<Bodies> {
  const identity = Buffer.from(served(file), 'utf8')
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: BROTLI_LEVEL,
    [constants.BROTLI_PARAM_SIZE_HINT]: identity.length,
  }
  const [br, gz] = await Promise.all([brotliOf(identity, { params }), gzipOf(identity, { level: 9 })])
  return { identity, br, gzip: gz }
}

export class Assets {
  readonly #client: ClientFiles
  readonly #ready = new Map<string, Promise<Bodies>>()

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
    const bodies = await this.#bodies(name, file)
    const encoding = encodingFor(req.headers['accept-encoding'])
    const body = bodies[encoding]
    if (encoding !== 'identity') headers['content-encoding'] = encoding
    res.writeHead(200, { ...headers, 'content-length': body.length })
    res.end(req.method === 'HEAD' ? undefined : body)
    return true
  }

  #bodies(name: string, file: ClientFile): Promise<Bodies> {
    let ready = this.#ready.get(name)
    if (ready === undefined) this.#ready.set(name, (ready = bodiesOf(file)))
    return ready
  }
}

/** `q=0` is a refusal. */
function encodingFor(header: string | string[] | undefined): Encoding {
  const accepted = new Set(
    String(header ?? '')
      .toLowerCase()
      .split(',')
      .map(part => part.split(';').map(piece => piece.trim()))
      .filter(([, q]) => q === undefined || !/^q=0(\.0*)?$/.test(q))
      .map(([encoding]) => encoding),
  )
  return accepted.has('br') ? 'br' : accepted.has('gzip') ? 'gzip' : 'identity'
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
