/**
 * Why tests behind real proxies cannot run on this machine: nginx and Caddy are Debian's packages nginx-light and caddy. `npm test`
 * says so at its end.
 */
import { spawnSync } from 'node:child_process'

const isThere = (program: string, how: string): boolean =>
  spawnSync(program, [how], { stdio: 'ignore' }).error === undefined

export const NGINX_MISSING = isThere('nginx', '-v')
  ? null
  : 'nginx is not on this machine, and the tests behind it did not run: install nginx-light'
export const CADDY_MISSING = isThere('caddy', 'version')
  ? null
  : 'caddy is not on this machine, and the tests behind it did not run: install caddy'
