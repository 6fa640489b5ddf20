/**
 * The table of clients: each file is read by its language, each environment by its shell, each program and each curl command of
 * protocols that the demo's catalogue lacks makes a request to a gateway. `pages/snippets.test.ts` runs the others. Keys and models
 * with quotes and spaces stay what they are.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { fill, type Syntax, type Values } from '../../web/shared/fill.ts'
import { CLIENTS } from '../../lib/console/clients.ts'
import { type Protocol, PROTOCOLS } from '../../lib/protocols/names.ts'
import { KEY } from '../support/gateway.ts'
import { openGateway } from '../support/open-gateway.ts'
import { PYTHON_MISSING, type ProgramLanguage, type Ran, runPrograms } from './support/programs.ts'

const AWKWARD: Values = {
  base: 'https://api.example',
  key: `sk-it's"100%$HOME`,
  model: `o'dd "model" \\ %x`,
  name: '网关 "one"',
}
const snippetsOf = (syntax: Syntax) =>
  CLIENTS.flatMap(({ id, snippets }) => snippets.filter(one => one.syntax === syntax).map(one => ({ id, ...one })))
const one = (id: string, title: string) =>
  CLIENTS.find(row => row.id === id)!.snippets.find(snippet => snippet.title === title)!

/** Runs a program that a machine may lack; null = it does. The simulator of a gateway lives in this process meanwhile. */
async function run(command: string, args: string[], input = ''): Promise<string | null> {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'] })
  const [out, err] = [text(child.stdout), text(child.stderr)]
  child.stdin.on('error', () => {}).end(input)
  try {
    const [status] = (await once(child, 'close')) as [number]
    if (status !== 0) throw new Error(`${command}: ${await err}`)
    return await out
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

t.test('rows', async t => {
  t.equal(new Set(CLIENTS.map(({ id }) => id)).size, CLIENTS.length)
  for (const { id, address, protocols, snippets, links, notes } of CLIENTS) {
    t.match(address, /^\{base\}(\/v1)?$/, id)
    t.ok(protocols.length > 0 && protocols.every(protocol => PROTOCOLS.includes(protocol)), id)
    t.ok(snippets.length > 0 && new Set(snippets.map(({ title }) => title)).size === snippets.length, id)
    for (const { title, text } of snippets)
      t.same(
        [...text.matchAll(/\{(\w+)\}/g)].filter(([, name]) => name !== 'step' && !(name! in AWKWARD)),
        [],
        `${id} ${title}`,
      )
    for (const { link, data } of links) {
      const filled = fill(link.replace('{data}', ''), 'url', AWKWARD)
      t.equal(new URL(filled).href.includes("'"), false, `${id} ${link}`)
      const given = new URL(filled).searchParams
      if (data === undefined) t.same([given.get('apiKey'), given.get('model')], [AWKWARD.key, AWKWARD.model], id)
    }
    for (const note of notes) t.ok(/\p{Script=Han}/u.test(note.zh) && !/\p{Script=Han}/u.test(note.en), id)
  }
})

t.test('files are read by their languages', async t => {
  for (const { id, title, text } of snippetsOf('json')) {
    const filled = fill(text, 'json', AWKWARD)
    const said = JSON.stringify(JSON.parse(filled))
    for (const name of ['key', 'model', 'base'] as const)
      if (text.includes(`{${name}}`))
        t.ok(said.includes(JSON.stringify(AWKWARD[name]).slice(1, -1)), `${id} ${title} ${name}`)
  }
  const toml = fill(one('codex', '~/.codex/config.toml').text, 'toml', AWKWARD)
  const read = await run(
    'python3',
    ['-c', 'import sys, json, tomllib; print(json.dumps(tomllib.loads(sys.stdin.read())))'],
    toml,
  )
  if (read === null) t.pass('python3 is not on this machine: TOML was not read')
  else
    t.match(JSON.parse(read), {
      model: AWKWARD.model,
      model_provider: 'gateway',
      model_providers: { gateway: { name: AWKWARD.name, base_url: 'https://api.example/v1', wire_api: 'responses' } },
    })
  const python = snippetsOf('python')
    .map(({ text }) => fill(text, 'python', AWKWARD))
    .join('\n')
  const parsed = await run('python3', ['-c', 'import sys, ast; print(ast.dump(ast.parse(sys.stdin.read())))'], python)
  if (parsed === null) t.pass('python3 is not on this machine: Python was not read')
  else t.equal(parsed.match(/\b(api_key)\b/g)?.length, snippetsOf('python').length)
  // throws where the text is no JavaScript
  for (const { id, title, text } of snippetsOf('js'))
    t.ok(stripTypeScriptTypes(fill(text, 'js', AWKWARD)).includes('from "'), `${id} ${title}`)
})

/** Stands in the place of every program that a shell starts: prints its name, its arguments and its environment. */
const PRINTS = '#!/bin/sh\nprintf "%s\\0" "$0" "$@"; printf "\\0"; exec /usr/bin/env -0\n'

t.test('shells start the program with exactly these values in environment and arguments', async t => {
  const folder = mkdtempSync(path.join(tmpdir(), 'gateway-shell-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  for (const name of ['claude', 'codex', 'gemini', 'docker']) {
    writeFileSync(path.join(folder, name), PRINTS)
    chmodSync(path.join(folder, name), 0o755)
  }
  for (const { id, title, text } of snippetsOf('sh').filter(one => one.id !== 'curl')) {
    const script = fill(text, 'sh', AWKWARD)
    const printed = await run('env', ['-i', `PATH=${folder}`, '/bin/sh', '-c', script])
    const [words, settings = ''] = (printed ?? '').split('\0\0') as [string, string?]
    const found = [...words.split('\0').slice(1), ...settings.split('\0')]
    for (const name of ['base', 'key', 'model'] as const)
      if (text.includes(`{${name}}`))
        t.ok(
          found.some(one => one.replace(/^[\w]+=\+?/, '').replace(/\/v1$/, '') === AWKWARD[name]),
          `${id} ${title}: ${name} in ${JSON.stringify(found)}`,
        )
  }
  // neither of these shells is here, so the rules of their quotes are applied by hand
  for (const { id, text } of snippetsOf('powershell'))
    for (const line of fill(text, 'powershell', AWKWARD).split('\n'))
      t.match(line, /^((\$env:\w+ = |gemini -m )'([^']|'')*'|claude|codex)$/, id)
  for (const { id, text } of snippetsOf('cmd'))
    for (const line of fill(text, 'cmd', AWKWARD).split('\n'))
      t.match(line, /^((set "\w+=|gemini -m ")[^"]*"|claude|codex)$/, id)
})

const BESIDE = ['embeddings', 'rerank', 'moderations', 'speech', 'transcriptions'] as const
const ODD = `o'dd "model" 100%x`

t.test('programs and commands of all other protocols, and a model with quotes in its name', async t => {
  const gateway = await openGateway({
    catalog: upstream => {
      const prices = { embeddings: { input: 1 }, rerank: { request: 1 }, moderations: { request: 1 } }
      const sound = { speech: { character: 1 }, transcriptions: { second: 1 } }
      const models = Object.entries({ ...prices, ...sound }).map(([name, price]) => ({ name, price }))
      const channel = { base_url: upstream, key: 'up', groups: ['default'] }
      return {
        groups: [{ name: 'default', rate: { requests: 0, minutes: 1 } }],
        models: [...models, { name: ODD, price: { input: 1, output: 1 } }],
        channels: [
          ...BESIDE.map(name => ({ ...channel, name, protocols: [name], models: [name] })),
          { ...channel, name: 'text', protocols: ['messages', 'chat', 'responses', 'generate'], models: [ODD] },
        ],
        accounts: [{ name: 'rich', groups: ['default'], balance: 1000 }],
        keys: [{ account: 'rich', name: 'k', secret: KEY, group: 'default' }],
      }
    },
  })
  t.teardown(() => gateway.stop())
  const languageOf: Partial<Record<Syntax, ProgramLanguage>> = { js: 'js', python: 'python', 'sh-json': 'sh', sh: 'sh' }
  const isBeside = (protocols: readonly Protocol[] = []) => BESIDE.some(name => protocols.includes(name))
  for (const language of ['js', 'python', 'sh'] as const) {
    if (language === 'python' && PYTHON_MISSING !== null) {
      if (process.env['CI']) t.fail(PYTHON_MISSING)
      else t.pass(PYTHON_MISSING)
      continue
    }
    // speech stands before transcriptions, which read its file
    const all = CLIENTS.flatMap(({ id, snippets }) =>
      snippets
        .filter(({ syntax, protocols }) => protocols !== undefined && languageOf[syntax] === language)
        .filter(({ protocols }) => isBeside(protocols) || (id === 'curl' && !protocols?.includes('images')))
        .map(({ title, syntax, text, protocols }) => {
          const model = protocols?.find(name => (BESIDE as readonly Protocol[]).includes(name)) ?? ODD
          const filled = fill(text, syntax, { base: gateway.main, key: KEY, model, name: 'Gateway' })
          return { id, title, text: filled.replace('curl ', 'curl -sS --fail-with-body ') }
        }),
    )
    t.ok(all.length > 4, `${all.length} in ${language}`)
    const ran = await runPrograms(
      language,
      all.map(({ text }) => text),
    )
    for (const [i, { failed, said }] of (ran as Ran[]).entries()) {
      const { id, title } = all[i]!
      t.equal(failed, null, `${id} ${title} ${failed}`)
      t.ok(said !== '' || title === 'speech', `${id} ${title} prints something`)
    }
  }
})
