/**
 * `npm run test:openapi [-- --examples 30]`: lets schemathesis loose on the API of a gateway that runs, once with a
 * session and once with a personal token. It makes calls from the OpenAPI document, right ones and wrong ones. No answer
 * may be a 5xx, and none may have a status, a content type or a form that the document does not have.
 *
 * Schemathesis comes from PyPI into an environment of its own in the user's cache; it needs `python3`. It is no part of
 * `npm test`.
 */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import path from 'node:path'
import { startGateway } from '../support/gateway.ts'
import { scriptOptions } from '../support/script.ts'
import { type Live, liveIn } from './support/live.ts'

const values = scriptOptions(import.meta.filename, { examples: { type: 'string', default: '30' } })
const VERSION = '4.32.5'
const CHECKS =
  'not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance'
/** Calls that would end the session or the user with which the others are made; they have a run of their own. */
const ENDS = '^(me\\.(delete|password|email)|sign_in\\.sign_out|sessions\\.end_others|factor\\.)'

function tool(): string {
  const cache = process.env['XDG_CACHE_HOME'] ?? path.join(homedir(), '.cache')
  const folder = path.join(cache, `gateway-schemathesis-${VERSION}`)
  const program = path.join(folder, 'bin/schemathesis')
  if (existsSync(program)) return program
  const run = (command: string, ...args: string[]) => {
    if (spawnSync(command, args, { stdio: 'inherit' }).status !== 0)
      throw new Error(`${command} ${args.join(' ')} failed`)
  }
  run('python3', '-m', 'venv', folder)
  run(path.join(folder, 'bin/pip'), 'install', '--quiet', `schemathesis==${VERSION}`)
  return program
}

interface Document {
  paths: Record<string, Record<string, { parameters: { name: string; schema: object }[] }>>
}

/** The document, in which the one account of the caller is the only one that there is to try. */
async function documentFor({ cookie, account }: Live, main: string): Promise<Document> {
  const document = (await (await fetch(`${main}/console/openapi.json`, { headers: { cookie } })).json()) as Document
  for (const calls of Object.values(document.paths))
    for (const { parameters } of Object.values(calls))
      for (const parameter of parameters) if (parameter.name === 'account') parameter.schema = { enum: [account] }
  return document
}

function run(file: string, main: string, headers: string[], ...more: string[]): Promise<boolean> {
  const args = [
    'run',
    file,
    '--url',
    `${main}/console`,
    '--checks',
    CHECKS,
    '--max-examples',
    values.examples as string,
  ]
  const all = [...args, '--phases', 'examples,coverage,fuzzing', ...headers.flatMap(line => ['-H', line]), ...more]
  const child = spawn(tool(), all, { stdio: 'inherit', cwd: path.dirname(file) })
  return new Promise(resolve => child.on('exit', code => resolve(code === 0)))
}

const cleanups: (() => unknown)[] = []
const life = { teardown: (fn: () => unknown) => void cleanups.unshift(fn) }
const gateway = await startGateway()
life.teardown(() => gateway.stop())
const results: boolean[] = []
try {
  const [one, other] = [await liveIn(life, gateway, 'rich', 'owner'), await liveIn(life, gateway, 'poor', 'owner')]
  const file = path.join(gateway.folder, 'openapi.json')
  writeFileSync(file, JSON.stringify(await documentFor(one, gateway.main)))
  const browser = ({ cookie }: Live) => [`cookie: ${cookie}`, 'sec-fetch-site: same-origin']
  results.push(await run(file, gateway.main, browser(one), '--exclude-operation-id-regex', ENDS))
  results.push(await run(file, gateway.main, [`authorization: ${one.authorization}`]))
  results.push(await run(file, gateway.main, browser(other), '--include-operation-id-regex', ENDS))
} finally {
  for (const fn of cleanups) await fn()
}
const passed = results.filter(result => result).length
console.log(`${passed} passed, ${results.length - passed} failed`)
process.exit(passed === results.length ? 0 : 1)
