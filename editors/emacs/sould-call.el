;;; sould-call.el --- Calls of agents to this Emacs  -*- lexical-binding: t; -*-

;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; One call of an editor tool: the file it is about, the language server that is asked, the answer.  Language servers are asked
;; without waiting for them.  A file that is not open is loaded for one call, without being shown, and is gone after it.  Nothing
;; here writes: what is to be written is said, and sould writes it.  Nothing asks the user.

;;; Code:

(require 'jsonrpc)
(require 'sould-window)

(declare-function eglot-current-server "eglot")
(defvar eglot-current-linepos-function)
(defvar eglot-move-to-linepos-function)
(defvar eglot-current-column-function)
(defvar eglot-move-to-column-function)

(cl-defstruct (sould-call (:constructor sould-call--make) (:copier nil))
  "One call.
TOOL and ARGUMENTS are what is wanted, in the project of ROOT; AT is the
place that it is about, in a text whose digest is DIGEST.  REPLY takes
the answer.
HIDDEN is a file that is visited for it only."
  tool arguments root at digest reply hidden)

(define-error 'sould-call-failed "An editor tool failed")

(defcustom sould-language-server-timeout 12
  "Seconds for which an agent's question waits for a language server."
  :type 'number
  :group 'sould)

(defun sould-call-fail (code message &rest arguments)
  "End the call with an error of the catalogue: CODE, and MESSAGE with ARGUMENTS."
  (signal 'sould-call-failed (list code (apply #'format message arguments))))

(defun sould-call-get (call name)
  "The argument NAME, a keyword, of CALL."
  (plist-get (sould-call-arguments call) name))

;;;; Answering

(defmacro sould-call-guard (call &rest body)
  "Do BODY; an error in it is the answer to CALL."
  (declare (indent 1))
  `(condition-case failure
       (let ((inhibit-interaction t) (inhibit-message t) (non-essential t))
         ,@body)
     (sould-call-failed (sould-call--end ,call (list :error (list :code (nth 1 failure) :message (nth 2 failure)))))
     (error (sould-call--end ,call (list :error (list :code "failed" :message (error-message-string failure)))))))

(defun sould-call-answer (params reply)
  "Do what PARAMS of `_sould/editor/call' want.
REPLY takes the answer, maybe later."
  (let* ((call (sould-call--make :tool (plist-get params :tool) :arguments (plist-get params :arguments)
                                 :root (plist-get params :root) :at (plist-get params :at)
                                 :digest (or (plist-get params :digest) "") :reply reply))
         (tool (nth 1 (assoc (sould-call-tool call) sould-window-tools))))
    (sould-call-guard call
      (if tool
          (funcall tool call)
        (sould-call-fail "not_supported" "Emacs does not serve %s." (sould-call-tool call))))))

(defun sould-call-return (call data &optional edits)
  "Answer CALL by DATA, and EDITS that are to be written."
  (sould-call--end call (append (list :data data) (when edits (list :edits (vconcat edits))))))

(defun sould-call--end (call answer)
  "Answer CALL by ANSWER, once."
  (when-let ((reply (sould-call-reply call)))
    (setf (sould-call-reply call) nil)
    (sould-call--release call)
    (condition-case failure
        (funcall reply answer)
      (error (funcall reply (list :error (list :code "failed" :message (error-message-string failure))))))))

;;;; Files

(defun sould-call-buffer (call file)
  "A buffer that visits FILE; one that is loaded for CALL if there is none."
  (let ((buffer (find-buffer-visiting file)))
    (cond ((and buffer (not (member file sould-sync-hidden))))
          ((not (file-readable-p file)) (sould-call-fail "not_found" "%s is not there." file))
          (t (sould-call--release call)
             (push file sould-sync-hidden)
             (setf (sould-call-hidden call) file)))
    (or buffer (sould-call--load file))))

(defun sould-call--load (file)
  "Visit FILE without showing it, and without what Emacs does for its user's files."
  (let ((find-file-hook nil) (large-file-warning-threshold nil) (enable-local-variables :safe) (enable-local-eval nil))
    (find-file-noselect file t)))

(defun sould-call--release (call)
  "Forget the buffer that was loaded for CALL.
Not while others need it, or when its user has come to it."
  (when-let ((file (sould-call-hidden call)))
    (setf (sould-call-hidden call) nil)
    (setq sould-sync-hidden (cl-remove file sould-sync-hidden :test #'equal :count 1))
    (when-let ((buffer (and (not (member file sould-sync-hidden)) (find-buffer-visiting file))))
      (with-current-buffer buffer
        (if (or (buffer-modified-p) (> buffer-display-count 0))
            (run-hooks 'find-file-hook 'after-change-major-mode-hook)
          (let ((kill-buffer-query-functions nil))
            (kill-buffer buffer)))))))

(defun sould-call-check (call)
  "Fail when the current buffer has another text than CALL is about."
  (cond ((not (sould-call-at call))
         (sould-call-fail "invalid" "The call names no place."))
        ((not (member (sould-call-digest call) (list "" (sould-call-digest-of-buffer))))
         (sould-call-fail "stale" "The file has changed since the call was made."))))

(defun sould-call-digest-of-buffer ()
  "The SHA-256 of the current buffer's text as its file has it."
  (secure-hash 'sha256 (encode-coding-string (sould-sync-text) 'utf-8-unix)))

(defun sould-call-go (at)
  "Go to AT, a place as sould counts, in the current buffer, which is widened."
  (goto-char (point-min))
  (forward-line (1- (plist-get at :line)))
  (let ((units (1- (plist-get at :column))))
    (while (and (> units 0) (not (eolp)))
      (setq units (- units (if (> (char-after) #xffff) 2 1)))
      (forward-char))))

(defmacro sould-call-with-text (file &rest body)
  "Do BODY where the text of FILE is.
That is its buffer, widened, or a temporary one.  Signals when it
cannot be read."
  (declare (indent 1))
  `(sould-call--with-text ,file (lambda () ,@body)))

(defun sould-call--with-text (file body)
  "Call BODY where the text of FILE is."
  (if-let ((buffer (find-buffer-visiting file)))
      (with-current-buffer buffer
        (save-excursion
          (save-restriction
            (widen)
            (funcall body))))
    (with-temp-buffer
      (insert-file-contents file)
      (funcall body))))

;;;; Language servers

(defun sould-call-server (buffer)
  "The language server of BUFFER, or nil."
  (and (featurep 'eglot)
       (with-current-buffer buffer
         (eglot-current-server))))

(defun sould-call-counting (buffer)
  "How the server of BUFFER counts columns.
The functions to move by one, and to say one."
  (sould-call-need-server buffer)
  (with-current-buffer buffer
    (if (boundp 'eglot-move-to-linepos-function)
        (cons eglot-move-to-linepos-function eglot-current-linepos-function)
      (cons eglot-move-to-column-function eglot-current-column-function))))

(defun sould-call-need-server (buffer)
  "The language server of BUFFER; the call fails without one."
  (or (sould-call-server buffer)
      (sould-call-fail "not_supported" "Emacs has no language server for the file.")))

(defun sould-call-ask (call buffer method params then)
  "Ask the server of BUFFER for METHOD with PARAMS; THEN takes the result.
An error of the server, or its silence, is the answer to CALL."
  (let ((server (sould-call-need-server buffer)))
    (with-current-buffer buffer
      (jsonrpc-async-request
       server method params
       :deferred (gensym) :timeout sould-language-server-timeout
       :success-fn (lambda (result) (sould-call-guard call (funcall then result)))
       :error-fn (lambda (failure)
                   (sould-call-guard call
                     (sould-call-fail (if (eql (plist-get failure :code) -32601) "not_supported" "failed")
                                      "%s" (plist-get failure :message))))
       :timeout-fn (lambda ()
                     (sould-call-guard call
                       (sould-call-fail "busy" "The language server does not answer.")))))))

(defun sould-call-document (buffer)
  "BUFFER's file as language servers are told of it."
  (list :uri (sould-project-uri (file-truename (buffer-file-name buffer)))))

(defun sould-call-position (call buffer)
  "The place of CALL in BUFFER as its server counts."
  (let ((column (cdr (sould-call-counting buffer))))
    (with-current-buffer buffer
      (save-excursion
        (save-restriction
          (widen)
          (sould-call-go (sould-call-at call))
          (list :line (1- (line-number-at-pos)) :character (funcall column)))))))

(defun sould-call-region (range counting)
  "RANGE of a server that counts by COUNTING, as places in the current buffer."
  (let ((find (lambda (place)
                (goto-char (point-min))
                (forward-line (plist-get place :line))
                (unless (eobp)
                  (funcall (car counting) (plist-get place :character)))
                (point))))
    (save-excursion
      (cons (funcall find (plist-get range :start)) (funcall find (plist-get range :end))))))

(defun sould-call-span (range counting)
  "RANGE of a server that counts by COUNTING, as sould counts.
The current buffer has the text."
  (let ((region (sould-call-region range counting)))
    (sould-window-span (car region) (cdr region))))

(defun sould-call-file (uri)
  "The file that URI names, or nil."
  (when (string-prefix-p "file://" uri)
    (decode-coding-string (url-unhex-string (substring uri (length "file://"))) 'utf-8)))

(provide 'sould-call)
;;; sould-call.el ends here
