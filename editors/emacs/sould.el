;;; sould.el --- Review and direct coding agents  -*- lexical-binding: t; -*-

;; Copyright (C) 2026  The sould developers

;; Author: the sould developers
;; Version: 0.1.0
;; Package-Requires: ((emacs "28.1"))
;; Keywords: tools, processes
;; URL: https://github.com/sould/sould
;; SPDX-License-Identifier: Apache-2.0

;;; Commentary:

;; sould is a coding agent that keeps running: one process per user, of which every editor is a window.  This package shows
;; what agents changed in your buffers, hunk by hunk, for you to keep or reject; it talks to agents in a chat buffer, and lists what
;; waits for your answer.
;;
;;     (require 'sould)
;;     (global-sould-mode 1)       ; in files of projects
;;     (sould-setup-keys)          ; C-c , ..., unless you name another prefix
;;
;; Without `sould-setup-keys' no key is taken.  It needs no other package, and works beside eglot and lsp-mode, whose servers keep
;; the buffer.

;;; Code:

(require 'sould-inbox)
(require 'sould-review)
(require 'sould-window)

(autoload 'sould-review "sould-diff" "Show all that is pending in this project as a diff." t)
(autoload 'sould-menu "sould-menu" "All commands of sould." t)
(autoload 'sould-chat "sould-chat" "Talk to the agent of this project." t)
(autoload 'sould-prompt "sould-chat" "Ask the agent of this project." t)
(autoload 'sould-steer "sould-chat" "Say something to the agent while it works." t)
(autoload 'sould-cancel "sould-chat" "Stop what the agent of this project does." t)
(autoload 'sould-switch-session "sould-chat" "Show another session of this project." t)
(autoload 'sould-set-mode "sould-chat" "Choose the mode of this project's session." t)
(autoload 'sould-set-model "sould-chat" "Choose the model of this project's session." t)

;;;; Modes

(defvar sould-mode-map (make-sparse-keymap)
  "Keys of `sould-mode': none, for you to fill; see `sould-setup-keys'.")

(defvar sould-mode-line-functions nil
  "Functions that return what they have to say in the mode line, or nil.")

(defun sould-mode-line ()
  "Text for the mode line: the hunks of this buffer, and what waits."
  (concat " sould"
          (when (> sould-hunks-count 0)
            (propertize (format ":%d" sould-hunks-count) 'face 'warning 'help-echo "Hunks to review in this buffer"))
          (mapconcat (lambda (each) (or (funcall each) "")) sould-mode-line-functions "")))

;;;###autoload
(define-minor-mode sould-mode
  "Show what agents changed in this file, to be kept or rejected."
  :lighter (:eval (sould-mode-line))
  :keymap sould-mode-map
  (remove-hook 'after-set-visited-file-name-hook #'sould-hunks-redraw t)
  (cond ((not sould-mode)
         (sould-sync-close)
         (sould-hunks-clear))
        ((sould--fit-p)
         (condition-case failure
             (progn (sould-sync-open)
                    (sould-window-watch)
                    (sould-hunks-redraw)
                    ;; Another name is another file; it is reported first.
                    (add-hook 'after-set-visited-file-name-hook #'sould-hunks-redraw 90 t))
           (user-error (setq sould-mode nil)
                       (sould--warn (error-message-string failure)))))
        (t (setq sould-mode nil)
           (when (called-interactively-p 'any)
             (user-error "This buffer visits no file of this machine")))))

(defvar sould--warned nil "What the user was warned of; it is said once, and not in every file.")

(defun sould--warn (why)
  "Say WHY files cannot be reviewed, if that was not said yet."
  (unless (equal why sould--warned)
    (setq sould--warned why)
    (display-warning 'sould why)))

(defun sould--fit-p ()
  "Whether the current buffer visits a file that can be reviewed here."
  (and buffer-file-name
       (not (file-remote-p buffer-file-name))
       (not (buffer-base-buffer))))

(defun sould--turn-on ()
  "Turn on `sould-mode' in files of projects."
  (when (and (sould--fit-p) (not (member buffer-file-name sould-sync-hidden)) (project-current))
    (sould-mode 1)))

;;;###autoload
(define-globalized-minor-mode global-sould-mode sould-mode sould--turn-on
  :predicate t
  :group 'sould)

(defun sould-reconnect ()
  "Begin all connections anew."
  (interactive)
  (let ((buffers (seq-filter (lambda (buffer) (buffer-local-value 'sould-mode buffer)) (buffer-list))))
    (dolist (buffer buffers)
      (with-current-buffer buffer (sould-mode -1)))
    (mapc #'sould-project-forget sould-project-all)
    (dolist (buffer buffers)
      (with-current-buffer buffer
        (setq sould-project--of-buffer nil)
        (sould-mode 1)))))

;;;###autoload
(defun sould-manual ()
  "Show the manual."
  (interactive)
  (let ((file (expand-file-name "sould.info" (file-name-directory (locate-library "sould")))))
    (info (if (file-exists-p file) file "(sould)"))))

;;;; Keys

;; `C-c' and a letter is left to the user, and most signs behind it are those of Org.
(defcustom sould-prefix-key "C-c ,"
  "The key that `sould-setup-keys' binds, as `kbd' reads it."
  :type 'string
  :group 'sould)

(defvar sould-command-map
  (let ((map (make-sparse-keymap)))
    (pcase-dolist (`(,key . ,command)
                   '(("n" . sould-next-hunk) ("p" . sould-previous-hunk)
                     ("k" . sould-keep) ("r" . sould-reject) ("u" . sould-undo)
                     ("K" . sould-keep-file) ("R" . sould-reject-file)
                     ("v" . sould-review) ("i" . sould-inbox)
                     ("c" . sould-chat) ("a" . sould-prompt) ("t" . sould-steer) ("x" . sould-cancel)
                     ("m" . sould-comment) ("M" . sould-send-comments)
                     ("s" . sould-menu) ("?" . sould-menu)))
      (define-key map key command))
    map)
  "The commands of sould, for a prefix key of your own.")

;;;###autoload
(defun sould-setup-keys (&optional prefix)
  "Bind `sould-command-map' to PREFIX, or to `sould-prefix-key', in all buffers."
  (global-set-key (kbd (or prefix sould-prefix-key)) sould-command-map))

(provide 'sould)
;;; sould.el ends here
