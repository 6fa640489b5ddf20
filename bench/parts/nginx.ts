/** Starts nginx as a reverse proxy with one worker, to see what a relay written in C costs that does nothing else. */
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import net from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { freePort } from '../../test/support/ports.ts'
import { NGINX } from '../report/targets.ts'
import { end, keep, OWN_SESSION, readProc, rssOf } from './process.ts'
import type { Subject } from './subjects.ts'

/** null when nginx is not installed (on Debian: nginx-light). */
export async function startNginx(upstreamPort: number): Promise<Subject | null> {
  const binary = ['/usr/sbin/nginx', '/usr/bin/nginx'].find(existsSync)
  if (binary === undefined) return null
  const dir = mkdtempSync(path.join(tmpdir(), 'bench-nginx-'))
  const port = await freePort()
  writeFileSync(
    path.join(dir, 'nginx.conf'),
    `daemon off; master_process off; pid ${dir}/nginx.pid; error_log ${dir}/error.log crit; worker_processes 1;
events { worker_connections 32768; }
http {
  access_log off; client_body_temp_path ${dir}/b; proxy_temp_path ${dir}/p; fastcgi_temp_path ${dir}/f; uwsgi_temp_path ${dir}/u; scgi_temp_path ${dir}/s;
  client_max_body_size 64m; keepalive_requests 100000000;
  upstream up { server 127.0.0.1:${upstreamPort}; keepalive 1024; keepalive_requests 100000000; }
  server {
    listen 127.0.0.1:${port};
    location / { proxy_pass http://up; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; proxy_request_buffering on; }
  }
}
`,
  )
  const child = spawn(binary, ['-c', path.join(dir, 'nginx.conf'), '-e', path.join(dir, 'error.log')], {
    ...OWN_SESSION,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  keep(child)
  const pid = child.pid as number
  for (let i = 0; i < 100; i++) {
    const up = await new Promise<boolean>(resolve => {
      const socket = net.connect(port, '127.0.0.1', () => resolve(true))
      socket.on('connect', () => socket.destroy())
      socket.on('error', () => resolve(false))
    })
    if (up) break
    await new Promise(resolve => setTimeout(resolve, 50))
  }
  return {
    name: NGINX,
    pid,
    port,
    ops: null,
    read: async () => readProc(pid),
    rssBytes: () => rssOf(pid),
    async stop() {
      await end(child)
      rmSync(dir, { recursive: true, force: true })
    },
  }
}
