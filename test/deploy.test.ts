/** The recipes of config/deploy and the commands in docs, as far as they can be tried without a daemon of systemd or Docker. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { METRICS } from '../lib/terms/metric-rows.ts'

const ROOT = path.resolve(import.meta.dirname, '..')
const DEPLOY = path.join(ROOT, 'config/deploy')
const BIN = path.join(ROOT, 'bin/gateway')
const read = (file: string) => readFileSync(path.join(ROOT, file), 'utf8')

interface Service {
  volumes?: string[]
  logging?: { options?: Record<string, string> }
  environment: Record<string, string>
}

t.test('compose: what a container writes is on a volume of its own, and what it mounts exists', async t => {
  const compose = parse(read('config/deploy/compose.yaml'), { merge: true }) as {
    services: Record<string, Service>
    volumes: Record<string, object>
  }
  const data = '/var/lib/gateway'
  const dockerfile = read('config/deploy/Dockerfile')
  t.match(dockerfile, new RegExp(`^VOLUME ${data}$`, 'm'))
  t.match(dockerfile, new RegExp(`^ENV NODE_COMPILE_CACHE=${data}/`, 'm'), 'the cache of compiled code too')
  for (const [, image] of read('config/deploy/compose.yaml').matchAll(/image: (\S+)/g))
    t.match(image, /:v?\d+\.\d+\.\d+$/, 'an image of one version')
  const used = new Set<string>()
  for (const [name, { volumes = [], environment, logging }] of Object.entries(compose.services)) {
    t.ok(logging?.options?.['max-size'], `the log of ${name} has a limit`)
    const mounts = volumes.map(volume => volume.split(':') as [string, string])
    for (const [source] of mounts)
      if (source.startsWith('.')) t.ok(statSync(path.join(DEPLOY, source)).isFile(), `${name} mounts ${source}`)
      else t.ok(source in compose.volumes && !used.has(source) && used.add(source), `${name} has the volume ${source}`)
    if (!name.startsWith('gateway-')) continue
    t.ok(
      mounts.some(([source, target]) => target === data && !source.startsWith('.')),
      `${name} keeps ${data}`,
    )
    const config = parse(read('config/deploy/gateway.compose.yaml')) as { journal: string; store: string }
    t.ok(config.journal.startsWith(`${data}/`), 'the journal is there')
    t.match(config.store, /^mysql:/)
    const env = Object.fromEntries(Object.keys(environment).map(key => [key, 'http://a-value']))
    const at = t.testdir({ 'gateway.yaml': read('config/deploy/gateway.compose.yaml').replace('/etc/gateway/', '') })
    spawnSync('cp', [path.join(ROOT, 'config/catalog.yaml'), at])
    const checked = spawnSync(BIN, ['check', '--config', `${at}/gateway.yaml`], {
      env: { PATH: process.env['PATH'], ...env, DB_PASSWORD: 'word' },
      encoding: 'utf8',
    })
    t.equal(checked.status, 0, checked.stderr)
  }
})

t.test('systemd: after the installation everything that the unit names is there, and its first steps work', async t => {
  const dest = t.testdir({})
  const env = { ...process.env, DESTDIR: dest }
  for (const round of ['first', 'second']) {
    const done = spawnSync(path.join(DEPLOY, 'install'), { env, encoding: 'utf8' })
    t.equal(done.status, 0, `${round}: ${done.stderr}`)
  }
  const runs = `${dest}/opt/gateway/`
  const du = spawnSync('du', ['-sB1', '--exclude=node', runs], { encoding: 'utf8' })
  t.ok(Number.parseInt(du.stdout, 10) <= 40e6, `what runs needs ${du.stdout} bytes beside its Node`)
  const unit = readFileSync(`${dest}/etc/systemd/system/gateway.service`, 'utf8')
  const values = (key: string) => [...unit.matchAll(new RegExp(`^${key}=(.*)$`, 'gm'))].map(match => match[1] as string)
  const [state] = values('StateDirectory')
  t.equal(`/var/lib/${state}`, values('WorkingDirectory')[0], 'systemd makes the folder that the service is in')
  t.same(values('Environment'), [
    'GATEWAY_CONFIG=/etc/gateway/gateway.yaml',
    `NODE_COMPILE_CACHE=/var/cache/${values('CacheDirectory')[0]}`,
  ])
  t.match(read('config/deploy/install'), new RegExp(`useradd [^\\n]*${values('User')[0]}$`, 'm'), 'the user is made')
  const [environment] = values('EnvironmentFile')
  t.equal(statSync(dest + environment).mode & 0o077, 0, 'secrets are nobody else’s')
  const secrets = Object.fromEntries(
    readFileSync(dest + environment, 'utf8')
      .split('\n')
      .filter(line => /^\w/.test(line))
      .map(line => line.split(/=(.*)/).slice(0, 2)),
  )
  for (const name of ['gateway.yaml', 'catalog.yaml']) t.ok(existsSync(`${dest}/etc/gateway/${name}`), name)
  mkdirSync(`${dest}/var/lib/gateway`, { recursive: true })
  for (const command of [...values('ExecStartPre'), ...values('ExecStart'), ...values('ExecReload')]) {
    const [program] = command.split(' ') as [string]
    t.ok(existsSync(program.startsWith('/opt/') ? dest + program : program), program)
  }
  // the files name each other by their places on a real system
  const config = `${dest}/etc/gateway/gateway.yaml`
  const text = readFileSync(config, 'utf8').replaceAll('/etc/gateway', `${dest}/etc/gateway`)
  spawnSync('tee', [config], { input: text })
  const ran = spawnSync(`${dest}/opt/gateway/bin/gateway`, ['check'], {
    cwd: `${dest}/var/lib/gateway`,
    env: { PATH: '/usr/bin:/bin', GATEWAY_CONFIG: config, ...secrets },
    encoding: 'utf8',
  })
  t.equal(ran.status, 0, `the installed program runs without what is only for tests: ${ran.stderr}`)
  t.match(ran.stdout, `ok: ${config}`, 'which config it read')
})

t.test('install: three versions stay, and the command reads the environment of the service', async t => {
  const dest = t.testdir({
    opt: Object.fromEntries(['1', '2', '3', '4'].map(day => [`gateway-2026010${day}000000`, { old: '' }])),
  })
  const done = spawnSync(path.join(DEPLOY, 'install'), { env: { ...process.env, DESTDIR: dest }, encoding: 'utf8' })
  t.equal(done.status, 0, done.stderr)
  const kept = readdirSync(`${dest}/opt`).filter(name => name !== 'gateway')
  t.same(kept.slice(0, 2), ['gateway-20260103000000', 'gateway-20260104000000'])
  t.equal(kept.length, 3)
  // the command as installed, in a system that is below `dest`: its own user stands for the one of the service
  const environment = `${dest}/etc/gateway/environment`
  writeFileSync(environment, "# secrets\nPLAIN=a b=c\nQUOTED=\"a $b 'c'\"\nnot a line\nSINGLE='x y'")
  writeFileSync(
    `${dest}/opt/gateway/bin/gateway`,
    '#!/bin/sh\nprintf "%s|" "$PLAIN" "$QUOTED" "$SINGLE" "$GATEWAY_CONFIG" "$@"\n',
  )
  const command = readFileSync(`${dest}/usr/local/bin/gateway`, 'utf8')
    .replaceAll('/etc/gateway', `${dest}/etc/gateway`)
    .replaceAll('/opt/gateway', `${dest}/opt/gateway`)
    .replaceAll('me=$(id -un)', 'me=gateway')
  const ran = spawnSync('sh', ['-c', command, 'gateway', 'users', 'list all'], { encoding: 'utf8' })
  t.equal(ran.stdout, `a b=c|a $b 'c'|x y|${dest}/etc/gateway/gateway.yaml|users|list all|`)
  const stranger = spawnSync('sh', ['-c', command.replace('me=gateway', 'me=somebody'), 'gateway', 'audit'], {
    encoding: 'utf8',
  })
  t.match(stranger, { status: 4, stderr: /sudo gateway audit/ })
})

t.test('systemd: the unit gives the service no more than it needs', async t => {
  const analyze = spawnSync('systemd-analyze', ['security', '--offline=true', path.join(DEPLOY, 'gateway.service')], {
    encoding: 'utf8',
  })
  if (analyze.error !== undefined) return t.comment('skipped: systemd-analyze is not installed')
  const score = Number(/exposure level for gateway\.service: ([\d.]+)/.exec(analyze.stdout)?.[1])
  t.ok(score < 3, `exposure ${score}`)
  const filters = read('config/deploy/gateway.service').match(/(?<=^SystemCallFilter=).+$/gm)
  t.same(
    filters,
    ['@system-service', '~@privileged @resources', 'setpriority'],
    'a thread may lower its own priority (lib/store/engines/sqlite-worker.ts), which @resources takes away',
  )
})

t.test('docs: every command there is, every metric and file they name exists', async t => {
  const help = spawnSync(BIN, ['--help'], { encoding: 'utf8' }).stdout
  const commands = [...help.matchAll(/^ {2}([a-z]+) /gm)].map(match => match[1])
  const scripts = Object.keys(JSON.parse(read('package.json')).scripts as object)
  const metrics = new Set(Object.values(METRICS).map(({ name }) => name as string))
  const pages = ['README.md', 'CONTRIBUTING.md', ...readdirSync(path.join(ROOT, 'docs')).map(name => `docs/${name}`)]
  for (const page of pages.filter(name => name.endsWith('.md'))) {
    const text = read(page)
    for (const [, command] of text.matchAll(/bin\/gateway ([a-z]+)/g))
      t.ok(commands.includes(command), `${page}: ${command}`)
    for (const [, script] of text.matchAll(/npm run ([a-z:0-9-]*[a-z0-9])/g))
      t.ok(scripts.includes(script as string), `${page}: ${script}`)
    for (const [, file] of text.matchAll(/`((?:config|lib|test|bench)\/[\w./-]+\.\w+)`/g))
      t.ok(existsSync(path.join(ROOT, file as string)), `${page}: ${file}`)
    for (const [, page2] of text.matchAll(/\]\(((?!https?:)[\w./-]+\.md)/g))
      t.ok(existsSync(path.join(ROOT, path.dirname(page), page2 as string)), `${page} leads to ${page2}`)
  }
  const known = (name: string) => metrics.has(name.replace(/_(bucket|sum|count)$/, '')) || name.startsWith('nodejs_')
  const alerts = parse(read('config/deploy/alerts.yml')) as {
    groups: { rules: { alert: string; expr: string; labels: object; annotations: object }[] }[]
  }
  const table = read('docs/operating.md')
  for (const { alert, expr, labels, annotations } of alerts.groups.flatMap(group => group.rules)) {
    t.match(labels, { severity: /^(page|ticket)$/ }, alert)
    t.match(annotations, { summary: /\w/, runbook: `docs/operating.md, ${alert}` }, alert)
    for (const [name] of expr.matchAll(/\b(?:gateway|nodejs)_\w+/g)) t.ok(known(name), `${alert}: ${name}`)
    t.match(table, new RegExp(`^\\| ${alert} \\|`, 'm'), `${alert} is explained`)
  }
  for (const [name] of table.matchAll(/\bgateway_\w+/g)) t.ok(known(name), name)
})
