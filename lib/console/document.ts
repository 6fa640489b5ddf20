/**
 * The console as one HTML document. It is in Chinese and can be read without its script; the English text stands in an
 * attribute of every element, from which the script takes it.
 */
import { SCRIPT } from './script.ts'
import { CLIENTS, type ClientKind } from './snippets.ts'
import { STYLE } from './style.ts'

/** The addresses at which clients reach the gateway, without a slash at the end. */
export interface PublicUrls {
  main: string
  direct: string
}

const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, character => `&#${character.charCodeAt(0)};`)

/** An element with its text in both languages. */
const both = (tag: string, chinese: string, english: string, attributes = ''): string =>
  `<${tag}${attributes} data-en="${escapeHtml(english)}">${escapeHtml(chinese)}</${tag.split(' ')[0]}>`

const address = (url: string, chinese: string, english: string, checked: boolean): string =>
  `<label class="choice"><input type="radio" name="address" value="${escapeHtml(url)}"${checked ? ' checked' : ''}> ` +
  `<code>${escapeHtml(url)}</code> ${both('span', chinese, english, ' class="soft"')}</label>`

const filled = (text: string, base: string): string =>
  escapeHtml(text.replaceAll('{base}', base).replaceAll('{key}', 'sk-…'))

/** A text to copy. The button needs the script, so it is hidden until the script shows it. */
const snippet = (text: string, title: string, base: string): string =>
  `<div class="snippet"><pre tabindex="0" aria-label="${escapeHtml(title)}">` +
  `<code data-text="${escapeHtml(text)}">${filled(text, base)}</code></pre>` +
  `${both('button', '复制', 'Copy', ' type="button" hidden')}</div>`

const client = ({ chinese, english, suffix, snippets }: ClientKind, base: string): string => `
${both('h3', chinese, english)}
<p>${both('span', '地址', 'Address', ' class="soft"')}: <code data-text="{base}${suffix}">${filled(`{base}${suffix}`, base)}</code></p>
${snippets.map(({ title, text }) => snippet(text, title, base)).join('\n')}`

export const renderDocument = ({ main, direct }: PublicUrls): string => `<!doctype html>
<html lang="zh-CN">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>模型网关</title>
<link rel="icon" href="data:,">
<style>${STYLE}</style>
</head>
<body>
<header>
${both('h1', '模型网关', 'Model gateway', ' id="title"')}
${both('button', 'English', '中文', ' id="language" type="button" hidden')}
</header>
<main>
${both('p', '一个地址、一个密钥,连接多家模型。只需更换客户端的地址与密钥。', 'One address and one key for many models. A client needs nothing but the address and the key.')}

${both('h2', '检查密钥', 'Check a key')}
${both('p', '密钥只保留在本页,不会被保存。', 'The key stays on this page and is not saved.', ' class="soft"')}
<form id="form" autocomplete="off">
${both('label', '密钥', 'Key', ' for="key"')}
<input id="key" type="password" placeholder="sk-…" autocomplete="off" autocapitalize="off" spellcheck="false" required>
${both('button', '检查', 'Check', ' id="check" type="submit"')}
</form>
<p id="verdict" role="status"></p>
<ul id="models"></ul>

${both('h2', '连接方式', 'How to connect')}
<fieldset>
${both('legend', '选择地址', 'Choose an address')}
${address(main, '主地址:100 秒内没有任何响应数据时会超时', 'Main: times out after 100 seconds without any response data', true)}
${address(direct, '直连地址:仅提供 API,没有 100 秒限制', 'Direct: API only, without the 100-second limit', false)}
</fieldset>
${CLIENTS.map(kind => client(kind, main)).join('\n')}
<p id="said" role="status" class="good"></p>

${both('h2', '常见问题', 'When something fails')}
<ul>
${both('li', '错误信息带有请求编号(request id),联系支持时请附上。', 'Errors carry a request id: name it when you ask for support.')}
${both('li', '401:密钥有误、已停用、已过期或额度用尽;请检查多余的空格。', '401: the key is wrong, disabled, expired or used up; look for stray spaces.')}
${both('li', '429 与 5xx:稍等后重试,每次等待更久。', '429 and 5xx: try again later, with growing waits.')}
${both('li', '524:请使用流式输出,或改用直连地址。', '524: use streaming, or the direct address.')}
</ul>
</main>
<script>${SCRIPT}</script>
</body>
</html>
`
